#include "objective/search_problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.hpp"
#include "objective/attention_cost.hpp"

namespace routepack::objective {
namespace {

// Routed pairs of a sample at one layer: the sum over EP ranks, the largest over layers.
std::int64_t pairs_of_a_layer(const domain::ProjectedDemandView& demand, SampleId sample) {
  std::int64_t most = 0;
  const std::size_t base = sample.offset() * demand.sample_stride();
  for (int layer = 0; layer < demand.num_layers; ++layer) {
    std::int64_t pairs = 0;
    for (int rank = 0; rank < demand.ep; ++rank) {
      const std::size_t at = base + static_cast<std::size_t>(rank * demand.padded_layers + layer);
      pairs += demand.wide.empty() ? demand.narrow[at] : demand.wide[at];
    }
    most = std::max(most, pairs);
  }
  return most;
}

void number_blocks(SearchProblem& problem) {
  problem.num_shards = problem.topology.edp();
  problem.cells_per_block = problem.topology.dp_per_shard();
  for (int cell = 0; cell < problem.num_cells(); ++cell) {
    problem.block_of_cell.push_back(BlockId{cell / problem.cells_per_block});
    problem.slot_of_cell.push_back(DpSlot{cell % problem.topology.dp});
  }
  for (int block = 0; block < problem.num_blocks(); ++block) {
    problem.shard_of_block.push_back(EdpShard{block % problem.num_shards});
  }
}

}  // namespace

SearchProblem make_search_problem(
    IndexVector<SampleId, std::int64_t> padded_lengths,
    const domain::ProjectedDemandView& demand,
    const Topology& topology,
    const CostModel& cost,
    const domain::CellRules& rules,
    int num_rows
) {
  SearchProblem problem;
  problem.topology = topology;
  problem.num_rows = num_rows;
  number_blocks(problem);
  problem.rules = rules;
  problem.lengths = std::move(padded_lengths);
  problem.demand = demand;
  problem.num_stages = static_cast<int>(cost.stages.size());
  const std::size_t num_samples = problem.lengths.size();
  const auto capacity = static_cast<double>(cost.capacity_tokens);

  double total = 0.0;  // an upper bound of Σ_g U[g]
  std::int64_t total_pairs = 0;
  problem.routed_pairs = IndexVector<SampleId, std::int64_t>{num_samples, 0};
  for (const SampleId sample : ids<SampleId>(num_samples)) {
    for (const AttentionStage& stage : cost.stages) {
      total += attention_cost(stage, problem.lengths[sample], cost.capacity_tokens);
    }
    problem.routed_pairs[sample] = pairs_of_a_layer(demand, sample);
    total_pairs += problem.routed_pairs[sample];
  }
  // At most so much fill: less than a multiple in every cell.
  const auto num_cells = static_cast<std::int64_t>(problem.num_cells());
  const std::int64_t most_fill = num_cells * (rules.pad_multiple - 1);
  for (const AttentionStage& stage : cost.stages) {
    total += attention_cost(stage, most_fill, 0, cost.capacity_tokens);
  }
  total_pairs += most_fill * rules.pairs_per_fill;
  RP_CHECK(
      total_pairs <= std::numeric_limits<std::uint32_t>::max(), ErrorCode::kNumberOutOfRange,
      "the window routes {} pairs a layer, at most {} fit", total_pairs,
      std::numeric_limits<std::uint32_t>::max()
  );
  total += cost.expert_weight / capacity * static_cast<double>(total_pairs) *
           static_cast<double>(demand.num_layers);

  // The energy multiplies by up to 4 edp; 2^58 leaves room for that and for every sum.
  const double room = std::ldexp(1.0, 58) / (4.0 * static_cast<double>(topology.edp()));
  const double scale = total > 0.0 ? room / total : 1.0;
  problem.units_per_cost = std::exp2(std::floor(std::log2(scale)));
  problem.pair_cost = std::llround(cost.expert_weight / capacity * problem.units_per_cost);
  for (const AttentionStage& stage : cost.stages) {
    problem.fill_attention.push_back(
        std::llround(attention_cost(stage, 1, 0, cost.capacity_tokens) * problem.units_per_cost)
    );
  }
  problem.attention.reserve(num_samples * cost.stages.size());
  for (const SampleId sample : ids<SampleId>(num_samples)) {
    for (const AttentionStage& stage : cost.stages) {
      problem.attention.push_back(std::llround(
          attention_cost(stage, problem.lengths[sample], cost.capacity_tokens) *
          problem.units_per_cost
      ));
    }
  }
  return problem;
}

}  // namespace routepack::objective
