#include "planner/plan_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "base/check.hpp"
#include "base/digest.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"

namespace routepack::planner {
namespace {

constexpr double kMaxSeconds = 1e9;
constexpr std::int64_t kMaxCount = 1'000'000'000'000'000;  // as on the command line

template <class T>
comm::NamedEvidence entry(const char* name, const T& value) {
  return {name, fmt::format("{}", value)};
}

template <class Enum>
comm::NamedEvidence choice(const char* name, Enum value) {
  return entry(name, static_cast<int>(value));
}

std::string stages_text(const std::vector<AttentionStage>& stages) {
  std::string text;
  for (const AttentionStage& stage : stages) {
    text += fmt::format("{}{}:{}:{}", text.empty() ? "" : " ", stage.name, stage.alpha, stage.beta);
  }
  return text;
}

std::vector<comm::NamedEvidence> evidence_of(const WindowShape& shape) {
  return {
      entry("num_samples of the window", shape.num_samples),
      entry("moe_layers of the window", fmt::format("[{}]", fmt::join(shape.moe_layers, ", "))),
      entry("num_layers of the window", shape.num_layers),
      entry("num_experts of the window", shape.num_experts),
      entry("top_k of the window", shape.top_k)};
}

void check_integer(std::int64_t value, std::int64_t min, std::int64_t max, const char* name) {
  RP_CHECK(
      value >= min && value <= max, ErrorCode::kNumberOutOfRange, "{} is {}, allowed are {} to {}",
      name, value, min, max
  );
}

void check_real(double value, double max, const char* name) {
  RP_CHECK(
      value >= 0.0 && value <= max, ErrorCode::kNumberOutOfRange,  // NaN fails both
      "{} is {}, allowed are 0 to {}", name, value, max
  );
}

void validate_shape(const WindowShape& shape) {
  constexpr std::int64_t kMaxExperts = 1 << 16;
  constexpr std::int64_t kMaxCounters = 1 << 22;  // L * E, as for a window's folder
  const bool routed = !shape.moe_layers.empty();
  check_integer(shape.num_samples, 0, std::numeric_limits<std::int32_t>::max() - 1, "num_samples");
  check_integer(shape.num_experts, routed ? 1 : 0, kMaxExperts, "num_experts");
  check_integer(shape.top_k, routed ? 1 : 0, routed ? shape.num_experts : kMaxExperts, "top_k");
  check_integer(
      shape.num_experts * static_cast<std::int64_t>(shape.moe_layers.size()), 0, kMaxCounters,
      "num_experts times MoE layers"
  );
  int before = -1;
  for (const int layer : shape.moe_layers) {
    RP_CHECK(
        layer > before && layer < shape.num_layers, ErrorCode::kNumberOutOfRange,
        "moe_layers has {} after {}, it must ascend below num_layers = {}", layer, before,
        shape.num_layers
    );
    before = layer;
  }
}

void validate_lengths(const WindowSlice& slice) {
  constexpr std::int64_t kMaxLength = std::numeric_limits<std::int32_t>::max();
  for (std::size_t at = 0; at < slice.lengths.size(); ++at) {
    const std::int64_t length = slice.lengths[at];
    const std::int64_t sample = slice.first_sample + static_cast<std::int64_t>(at);
    RP_CHECK(length != 0, ErrorCode::kZeroLengthSample, "sample {} has no tokens", sample);
    RP_CHECK(
        length > 0 && length <= kMaxLength &&
            length * slice.shape.top_k <= std::numeric_limits<std::uint32_t>::max(),
        ErrorCode::kNumberOutOfRange,
        "sample {} has {} tokens at top {}, over {} tokens or 2^32-1 "
        "pairs",
        sample, length, slice.shape.top_k, kMaxLength
    );
  }
}

// So that no sum over the experts of an EP rank passes 32 bits.
void validate_pairs(const WindowSlice& slice) {
  const auto experts = static_cast<std::size_t>(slice.shape.num_experts);
  const std::size_t layers = slice.shape.moe_layers.size();
  const std::uint32_t* row = slice.demand.data();
  for (std::size_t sample = 0; sample < slice.lengths.size(); ++sample) {
    const auto limit = static_cast<std::uint64_t>(slice.lengths[sample] * slice.shape.top_k);
    for (std::size_t layer = 0; layer < layers; ++layer, row += experts) {
      const std::uint64_t pairs = std::accumulate(row, row + experts, std::uint64_t{0});
      RP_CHECK(
          pairs <= limit, ErrorCode::kNumberOutOfRange,
          "sample {} has {} routed pairs at MoE layer {}, its {} tokens at top {} make {}",
          slice.first_sample + static_cast<std::int64_t>(sample), pairs, layer,
          slice.lengths[sample], slice.shape.top_k, limit
      );
    }
  }
}

// The slices of all ranks, in rank order, are the window.
void agree_on_slices(const WindowSlice& slice, const comm::Communicator& comm) {
  struct Extent {
    std::int64_t begin;
    std::int64_t size;
  };
  std::int64_t end = 0;
  const std::vector<Extent> all =
      comm::all_gather_value(Extent{slice.first_sample, slice.num_local()}, comm);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    RP_CHECK(
        all[rank].begin == end, ErrorCode::kUsage,
        "the slice of rank {} begins at sample {}, those of lower ranks end at {}", rank,
        all[rank].begin, end
    );
    end += all[rank].size;
  }
  RP_CHECK(
      end == slice.shape.num_samples, ErrorCode::kUsage,
      "the slices of all ranks have {} samples, the window {}", end, slice.shape.num_samples
  );
}

void check_constraints(const Constraints& constraints, std::int64_t capacity_tokens) {
  RP_CHECK(
      capacity_tokens % constraints.cell_pad_multiple == 0, ErrorCode::kUsage,
      "the capacity of {} tokens is no multiple of the cell pad multiple {}", capacity_tokens,
      constraints.cell_pad_multiple
  );
}

void check_placement(const PlanOptions& options, const WindowShape& window) {
  const MigrationOptions& migration = options.migration;
  const PlacementChoice choice = options.constraints.placement;
  const bool limits_moves = migration.max_moved_fraction < 1.0 || migration.cost_per_expert > 0.0;
  RP_CHECK(
      choice == PlacementChoice::kFree || !limits_moves, ErrorCode::kUsage,
      "a limit or price on moving experts is given, and a placement that does not move"
  );
  if (options.current_placement) {
    RP_CHECK(
        choice != PlacementChoice::kIdentity, ErrorCode::kUsage,
        "a current placement is given, and the identity asked for"
    );
    RP_CHECK(
        options.current_placement->ep == options.topology.ep, ErrorCode::kTopologyMismatch,
        "the current placement is for ep = {}, not {}", options.current_placement->ep,
        options.topology.ep
    );
    validate_placement(*options.current_placement, window.num_moe_layers(), window.num_experts);
    return;
  }
  RP_CHECK(
      choice != PlacementChoice::kCurrent, ErrorCode::kUsage,
      "the current placement is to stay, but it is not given"
  );
  RP_CHECK(
      !limits_moves, ErrorCode::kUsage,
      "a limit or price on moving experts needs the current placement"
  );
}

}  // namespace

comm::NamedEvidence evidence_of(const Placement& placement, const char* name) {
  base::DigestBuilder digest;
  digest.add(placement.num_experts);
  digest.add(placement.ep);
  digest.add(placement.layers.size());
  for (const LayerPlacement& layer : placement.layers) {
    digest.add(layer.size());
    for (const SlotId slot : layer) {
      digest.add(slot.value());
    }
  }
  return {name, "one with digest " + base::to_hex(digest.finish())};
}

std::vector<comm::NamedEvidence> evidence_of(const PlanOptions& options) {
  const Topology& topology = options.topology;
  const Constraints& constraints = options.constraints;
  const SearchOptions& search = options.search;
  const MigrationOptions& migration = options.migration;
  std::vector<comm::NamedEvidence> evidence = {
      entry("dp", topology.dp),
      entry("ep", topology.ep),
      entry("tp", topology.tp),
      entry("cp", topology.cp),
      entry("pp", topology.pp),
      entry("etp", topology.etp),
      entry("capacity_tokens", options.cost.capacity_tokens),
      entry("the attention stages", stages_text(options.cost.stages)),
      entry("expert_weight", options.cost.expert_weight),
      entry("row_multiple", options.row_multiple),
      entry("pad_multiple", options.pad_multiple),
      choice("samples_per_slot", constraints.samples_per_slot),
      choice("oversize", constraints.oversize),
      entry("max_samples_per_cell", constraints.max_samples_per_cell),
      entry("cell_pad_multiple", constraints.cell_pad_multiple),
      choice("pad_routes", constraints.pad_routes),
      choice("the choice of placements", constraints.placement),
      entry("seed", search.seed),
      entry("num_chains", search.num_chains),
      entry("num_sweeps", search.num_sweeps),
      entry("time_limit_seconds", search.time_limit_seconds),
      entry("target_gap", search.target_gap),
      entry("cost_per_expert", migration.cost_per_expert),
      entry("horizon_steps", migration.horizon_steps),
      entry("max_moved_fraction", migration.max_moved_fraction),
      entry("bytes_per_expert", migration.bytes_per_expert)};
  if (options.current_placement) {
    evidence.push_back(evidence_of(*options.current_placement, "the current placement"));
  }
  return evidence;
}

void validate_numbers(const PlanOptions& options) {
  constexpr int kMaxSize = 1 << 20;
  constexpr int kMaxThreads = 4096;
  constexpr std::int64_t kMaxBytes = std::int64_t{1} << 40U;  // of an expert
  constexpr double kMaxReal = 1e100;
  const SearchOptions& search = options.search;
  check_integer(search.num_chains, 0, kMaxSize, "num_chains");
  check_integer(search.num_sweeps, 0, kMaxCount, "num_sweeps");
  check_integer(search.num_threads, 0, kMaxThreads, "num_threads");
  check_integer(
      static_cast<int>(search.max_simd), static_cast<int>(SimdLevel::kPortable),
      static_cast<int>(SimdLevel::kAvx512), "max_simd"
  );
  check_real(search.time_limit_seconds, kMaxSeconds, "time_limit_seconds");
  check_real(search.target_gap, kMaxReal, "target_gap");
  check_integer(options.row_multiple, 1, kMaxSize, "row_multiple");
  check_integer(options.pad_multiple, 1, std::int64_t{1} << 40U, "pad_multiple");
  const Constraints& constraints = options.constraints;
  check_integer(
      constraints.max_samples_per_cell, 0, std::numeric_limits<int>::max(), "max_samples_per_cell"
  );
  check_integer(constraints.cell_pad_multiple, 1, std::int64_t{1} << 40U, "cell_pad_multiple");
  const MigrationOptions& migration = options.migration;
  check_real(migration.cost_per_expert, kMaxReal, "cost_per_expert");
  check_integer(migration.horizon_steps, 1, kMaxCount, "horizon_steps");
  check_real(migration.max_moved_fraction, 1.0, "max_moved_fraction");
  check_integer(migration.bytes_per_expert, 0, kMaxBytes, "bytes_per_expert");
}

void validate_slice(const WindowSlice& slice) {
  validate_shape(slice.shape);
  const std::uint64_t entries = static_cast<std::uint64_t>(slice.lengths.size()) *
                                slice.shape.moe_layers.size() *
                                static_cast<std::uint64_t>(slice.shape.num_experts);
  RP_CHECK(
      slice.demand.size() == entries, ErrorCode::kUsage,
      "a slice of {} samples, {} MoE layers and {} experts has {} entries of demand, expected {}",
      slice.lengths.size(), slice.shape.moe_layers.size(), slice.shape.num_experts,
      slice.demand.size(), entries
  );
  validate_lengths(slice);
  const std::int64_t tokens =
      std::accumulate(slice.lengths.begin(), slice.lengths.end(), std::int64_t{0});
  check_integer(slice.unrouted_tokens, 0, tokens, "unrouted_tokens of a slice");
  validate_pairs(slice);
}

void validate_options(const PlanOptions& options, const WindowShape& window) {
  validate_topology(options.topology, window.num_experts);
  validate_cost(options.cost);
  check_constraints(options.constraints, options.cost.capacity_tokens);
  check_placement(options, window);
}

void agree_on_plan_inputs(
    const WindowSlice& slice,
    const PlanOptions& options,
    double seconds_spent,
    const comm::Communicator& comm
) {
  std::vector<comm::NamedEvidence> evidence = evidence_of(options);
  const std::vector<comm::NamedEvidence> window = evidence_of(slice.shape);
  evidence.insert(evidence.end(), window.begin(), window.end());
  comm::agree_on_inputs(evidence, comm);
  comm::agree_on(
      [&] {
        validate_numbers(options);
        check_real(seconds_spent, kMaxSeconds, "seconds_spent");
        validate_slice(slice);
      },
      comm
  );
  agree_on_slices(slice, comm);
  comm::agree_on([&] { validate_options(options, slice.shape); }, comm);
}

}  // namespace routepack::planner
