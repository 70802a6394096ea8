// Uses nothing but the public headers of the installed package.
#include "step.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "routepack/error.hpp"
#include "routepack/planner.hpp"
#include "routepack/transports.hpp"
#include "routepack/weights.hpp"

namespace {

using namespace routepack;

constexpr int kLayers = 2;
constexpr int kExperts = 8;
constexpr int kTopK = 2;
constexpr int kSamples = 24;
constexpr std::int64_t kCapacity = 512;
constexpr Topology kTopology{.dp = 4, .ep = 4};
constexpr std::size_t kWeightBytes = 1000;
constexpr std::size_t kMomentBytes = 4000;
constexpr std::size_t kMomentCut = 1234;  // its two ranges lie apart

std::int64_t length_of(int sample) { return 60 + 37 * sample % 101; }

// Every token uses two experts. In identity order both of them live on one EP rank: 2l and 2l + 1
// at layer l for two tokens of three, 4 and 5 for the third.
WindowSlice slice_of(int rank, int num_ranks) {
  WindowSlice slice;
  slice.shape = {
      .num_samples = kSamples,
      .moe_layers = {1, 2},
      .num_layers = 3,
      .num_experts = kExperts,
      .top_k = kTopK,
      .name = "consumer"};
  const int begin = kSamples * rank / num_ranks;
  const int end = kSamples * (rank + 1) / num_ranks;
  slice.first_sample = begin;
  for (int sample = begin; sample < end; ++sample) {
    const auto tokens = static_cast<std::uint32_t>(length_of(sample));
    slice.lengths.push_back(tokens);
    for (std::size_t layer = 0; layer < kLayers; ++layer) {
      std::vector<std::uint32_t> demand(kExperts, 0);
      demand[2 * layer] = demand[2 * layer + 1] = tokens - tokens / 3;
      demand[4] = demand[5] = tokens / 3;
      slice.demand.insert(slice.demand.end(), demand.begin(), demand.end());
    }
  }
  return slice;
}

Plan plan_window(int rank, int num_ranks, MPI_Comm comm) {
  PlanOptions options;
  options.topology = kTopology;
  options.cost = {.capacity_tokens = kCapacity, .stages = {{"full", 10.0, 5.0}}};
  options.search.num_chains = 4;
  options.search.num_sweeps = 20;
  options.search.num_threads = 1;
  return make_plan(slice_of(rank, num_ranks), options, comm);
}

bool check(bool good, const char* what) {
  if (!good) {
    std::printf("consumer: %s\n", what);
  }
  return good;
}

bool check_plan(const Plan& plan, MPI_Comm comm) {
  std::vector<std::int64_t> lengths;
  for (int sample = 0; sample < kSamples; ++sample) {
    lengths.push_back(length_of(sample));
  }
  const std::string fault =
      find_layout_fault(plan.layout, IndexVector<SampleId, std::int64_t>{lengths}, kCapacity);
  bool good = check(fault.empty(), fault.c_str());
  good &= check(
      plan.rows.num_rows == plan.layout.num_rows &&
          plan.rows.lower_bound_rows <= plan.rows.num_rows,
      "the row certificate"
  );
  good &= check(plan.objective < plan.baseline.score, "no better than the baseline");
  good &= check(plan.gap() >= 0.0, "better than its bound");
  for (const MoeLayer layer : ids<MoeLayer>(kLayers)) {
    const ExpertId hot{2 * layer.value()};
    const ExpertId other{2 * layer.value() + 1};
    good &= check(
        plan.placement.ep_rank_of(layer, hot) != plan.placement.ep_rank_of(layer, other),
        "two hot experts on one EP rank"
    );
  }
  std::string of_root = plan.digest;
  of_root.resize(32);
  MPI_Bcast(of_root.data(), 32, MPI_CHAR, 0, comm);
  return good & check(plan.digest == of_root, "a rank has another plan");
}

// The byte at `offset` of a tensor of an expert: each rank can check it alone.
std::byte byte_of(MoeLayer layer, ExpertId expert, int tensor, std::size_t offset) {
  const auto mixed = static_cast<std::uint32_t>(
      ((layer.value() * kExperts + expert.value()) * 2 + tensor) * 40'503 + 1
  );
  return static_cast<std::byte>((mixed * (static_cast<std::uint32_t>(offset) + 17U)) >> 11U);
}

// The state of the slots of this rank: EP rank p lives on MPI rank p mod num_ranks.
class ExpertState {
 public:
  ExpertState(const Placement& placement, int rank, int num_ranks) {
    for (const MoeLayer layer : ids<MoeLayer>(kLayers)) {
      for (const SlotId slot : ids<SlotId>(kExperts)) {
        if (placement.ep_rank_of(slot).value() % num_ranks == rank) {
          slots_.push_back(
              {layer, slot, std::vector<std::byte>(kWeightBytes),
               std::vector<std::byte>(kMomentCut),
               std::vector<std::byte>(kMomentBytes - kMomentCut)}
          );
        }
      }
    }
  }

  void fill(const Placement& placement) {
    for_each_byte(placement, [](std::byte& byte, std::byte expected) { byte = expected; });
  }

  [[nodiscard]] std::int64_t count_wrong(const Placement& placement) {
    std::int64_t wrong = 0;
    for_each_byte(placement, [&wrong](const std::byte& byte, std::byte expected) {
      wrong += byte != expected ? 1 : 0;
    });
    return wrong;
  }

  [[nodiscard]] ExpertRegistry registry() {
    ExpertRegistry registry;
    for (Slot& slot : slots_) {
      registry.add_whole(
          slot.layer, slot.slot, "fc1.weight", slot.weight.data(),
          static_cast<std::int64_t>(kWeightBytes)
      );
      constexpr auto kCut = static_cast<std::int64_t>(kMomentCut);
      constexpr auto kAll = static_cast<std::int64_t>(kMomentBytes);
      registry.add(SlotTensor{
          slot.layer,
          slot.slot,
          "fc1.exp_avg",
          kAll,
          Memory::kHost,
          {{0, kCut, slot.moment_begin.data()}, {kCut, kAll - kCut, slot.moment_end.data()}}});
    }
    for (const MoeLayer layer : ids<MoeLayer>(kLayers)) {
      registry.require(layer, "fc1.exp_avg");
    }
    return registry;
  }

 private:
  struct Slot {
    MoeLayer layer;
    SlotId slot;
    std::vector<std::byte> weight;
    std::vector<std::byte> moment_begin;
    std::vector<std::byte> moment_end;
  };

  void for_each_byte(const Placement& placement, const auto& action) {
    for (Slot& slot : slots_) {
      for (const ExpertId expert : ids<ExpertId>(kExperts)) {
        if (placement.layers[slot.layer][expert] != slot.slot) {
          continue;
        }
        for (std::size_t at = 0; at < kWeightBytes; ++at) {
          action(slot.weight[at], byte_of(slot.layer, expert, 0, at));
        }
        for (std::size_t at = 0; at < kMomentBytes; ++at) {
          std::byte& byte =
              at < kMomentCut ? slot.moment_begin[at] : slot.moment_end[at - kMomentCut];
          action(byte, byte_of(slot.layer, expert, 1, at));
        }
      }
    }
  }

  std::vector<Slot> slots_;
};

bool move_experts(const Plan& plan, int rank, int num_ranks, MPI_Comm comm) {
  PlacementTable table = make_placement_table(identity_placement(kLayers, kExperts, kTopology.ep));
  ExpertState state(table.placement, rank, num_ranks);
  state.fill(table.placement);
  const TransportHandle transport = make_mpi_transport(comm);
  const Placement target = choose_slots(table.placement, plan.placement);
  const ShuffleReport report =
      apply_placement(table, target, state.registry(), *transport, ShuffleOptions{});
  bool good = check(table.placement == target && table.epoch == 1, "the table is not the target");
  good &= check(report.moved_experts >= plan.moved_experts, "fewer experts moved than planned");
  good &= check(plan.moved_experts > 0, "the plan moves nothing");
  return good & check(state.count_wrong(target) == 0, "bytes are not where the plan puts them");
}

// Errors of the library are caught by their type, whatever it is linked into.
bool check_refusal() {
  try {
    validate_topology({.dp = 6, .ep = 4}, 16);
  } catch (const Error& error) {
    return check(error.code() == ErrorCode::kTopologyMismatch, "another error");
  }
  return check(false, "a wrong topology passes");
}

}  // namespace

bool plan_and_move(MPI_Comm comm) {
  int rank = 0;
  int num_ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &num_ranks);
  const Plan plan = plan_window(rank, num_ranks, comm);
  int good = check_plan(plan, comm) ? 1 : 0;
  good &= move_experts(plan, rank, num_ranks, comm) ? 1 : 0;
  good &= check_refusal() ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, comm);
  if (rank == 0 && good == 1) {
    std::printf(
        "%d ranks: plan %s, %d rows, %lld experts moved\n", num_ranks, plan.digest.c_str(),
        plan.rows.num_rows, static_cast<long long>(plan.moved_experts)
    );
  }
  return good == 1;
}
