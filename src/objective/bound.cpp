#include "objective/bound.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "objective/attention_cost.hpp"

namespace routepack::objective {
namespace {

// Costs of samples and of what may share a cell with them.
class CellCosts {
 public:
  CellCosts(
      const IndexVector<SampleId, std::int64_t>& padded_lengths,
      const AttentionStage& stage,
      const domain::CellRules& rules
  )
      : stage_(stage), rules_(rules), ascending_(padded_lengths.values()) {
    std::sort(ascending_.begin(), ascending_.end());
  }

  [[nodiscard]] double of_sample(std::int64_t length) const {
    return attention_cost(stage_, length, rules_.capacity_tokens);
  }

  // No cell whose longest sample has this length costs more, before it is filled up. Costs are
  // convex in the length and 0 at 0, so samples of at most `other` tokens cost most as many of
  // `other` as fit, and a rest.
  [[nodiscard]] double ceiling(std::int64_t longest) const {
    const std::int64_t room = std::max<std::int64_t>(0, rules_.capacity_tokens - longest);
    const auto above =
        std::upper_bound(ascending_.begin(), ascending_.end(), std::min(room, longest));
    if (above == ascending_.begin()) {
      return of_sample(longest);  // nothing fits beside it
    }
    const std::int64_t other = *(above - 1);
    const std::int64_t whole = room / other;
    return of_sample(longest) + static_cast<double>(whole) * of_sample(other) +
           of_sample(room % other);
  }

  // Costs, descending, such that at least j + 1 cells cost as much as the j-th.
  [[nodiscard]] std::vector<double> forced(int num_cells) const {
    const std::size_t num_samples = ascending_.size();
    const auto cells = std::min(num_samples, static_cast<std::size_t>(num_cells));
    const std::size_t spare = num_samples - cells;  // samples that are not the longest of a cell
    std::vector<double> costs;
    for (std::size_t place = 0; place < cells; ++place) {
      const std::int64_t length = ascending_[num_samples - 1 - place];
      // The longest, those that share a cell with no other such, and what the others leave.
      const bool own_cell = place == 0 || length > rules_.capacity_tokens - length;
      costs.push_back(of_sample(own_cell ? length : ascending_[num_samples - 1 - place - spare]));
    }
    return costs;
  }

 private:
  const AttentionStage& stage_;
  const domain::CellRules& rules_;
  std::vector<std::int64_t> ascending_;
};

double attention_of(const BoundInput& input, std::int64_t length) {
  double cost = 0.0;
  for (const AttentionStage& stage : input.cost.stages) {
    cost += attention_cost(stage, length, input.cost.capacity_tokens);
  }
  return cost;
}

// Cost of so many pairs at the peaks.
double cost_of_pairs(const BoundInput& input, double pairs) {
  return input.cost.expert_weight * pairs / static_cast<double>(input.cost.capacity_tokens);
}

// The other rows of a sample's shard: each has cells_per_block cells with a sample at least, and
// the costliest of these counts. For the cheapest samples, in ascending order, that is the last of
// every block.
double attention_of_other_rows(const BoundInput& input) {
  std::vector<std::int64_t> ascending = input.padded_lengths.values();
  std::sort(ascending.begin(), ascending.end());
  const auto per_block = static_cast<std::size_t>(input.topology.dp_per_shard());
  double cost = 0.0;
  for (std::size_t row = 1; row < static_cast<std::size_t>(input.num_rows); ++row) {
    cost += attention_of(input, ascending[row * per_block - 1]);
  }
  return cost;
}

// Pairs of one layer of the samples that fill the other cells of a sample's shard, at least.
std::int64_t pairs_of_other_cells(const BoundInput& input) {
  std::vector<std::int64_t> ascending = input.routed_pairs.values();
  std::sort(ascending.begin(), ascending.end());
  const std::int64_t others = std::int64_t{input.num_rows} * input.topology.dp_per_shard() - 1;
  return std::accumulate(ascending.begin(), ascending.begin() + others, std::int64_t{0});
}

double bound_by_sample(const BoundInput& input) {
  const double other_attention = attention_of_other_rows(input);
  const std::int64_t other_pairs = pairs_of_other_cells(input);
  const auto layers = static_cast<double>(input.layer_pairs.size());
  double highest = 0.0;
  for (const SampleId sample : ids<SampleId>(input.padded_lengths.size())) {
    const double pairs =
        layers * static_cast<double>(input.routed_pairs[sample] + other_pairs) / input.topology.ep;
    highest = std::max(
        highest, attention_of(input, input.padded_lengths[sample]) + other_attention +
                     cost_of_pairs(input, pairs)
    );
  }
  return highest;
}

double sum_of(const std::vector<std::int64_t>& pairs) {
  return static_cast<double>(std::accumulate(pairs.begin(), pairs.end(), std::int64_t{0}));
}

}  // namespace

AttentionBound attention_lower_bound(
    const IndexVector<SampleId, std::int64_t>& padded_lengths,
    const AttentionStage& stage,
    const CellGrid& grid,
    const domain::CellRules& rules
) {
  const CellCosts costs(padded_lengths, stage, rules);
  double total = 0.0;
  std::vector<double> ceilings;  // of the cell whose longest sample it is
  for (const std::int64_t length : padded_lengths) {
    total += costs.of_sample(length);
    ceilings.push_back(costs.ceiling(length));
  }
  std::sort(ceilings.begin(), ceilings.end(), std::greater<>());
  const std::vector<double> forced = costs.forced(grid.num_cells);
  const auto per_block = static_cast<std::size_t>(grid.cells_per_block);
  double chunks = 0.0;  // ∫K dx
  double held = 0.0;    // ∫min(D·K, M) dx, cell by cell in the order of their costs
  for (std::size_t first = 0; first < forced.size(); first += per_block) {
    chunks += forced[first];
    for (std::size_t cell = first; cell < std::min(first + per_block, ceilings.size()); ++cell) {
      held += std::min(forced[first], ceilings[cell]);
    }
  }
  const double mean = total / grid.cells_per_block;
  const double cost = chunks + std::max(0.0, total - held) / grid.cells_per_block;
  return AttentionBound{std::max(mean, cost), cost > mean * (1.0 + 1e-12)};
}

ShardBound max_shard_lower_bound(const BoundInput& input) {
  const Topology& topology = input.topology;
  double attention = 0.0;
  bool above_mean = false;
  for (const AttentionStage& stage : input.cost.stages) {
    const AttentionBound bound = attention_lower_bound(
        input.padded_lengths, stage, {input.num_rows * topology.dp, topology.dp_per_shard()},
        input.rules
    );
    attention += bound.cost;
    above_mean = above_mean || bound.above_mean;
  }
  const double mean_pairs = sum_of(input.layer_pairs) / topology.ep;
  const double peak_pairs = std::max(mean_pairs, sum_of(input.peak_bounds));
  const auto mean_of_shards = [&](double pairs) {
    return (attention + cost_of_pairs(input, pairs)) / topology.edp();
  };
  ShardBound bound;
  bound.max_shard = mean_of_shards(peak_pairs);
  bound.balanced = mean_of_shards(mean_pairs);
  bound.hot_expert_loss = peak_pairs > 0.0 ? 1.0 - mean_pairs / peak_pairs : 0.0;
  bound.kind = above_mean ? "mean_shard_long_samples" : "mean_shard";
  const double by_sample = topology.edp() > 1 ? bound_by_sample(input) : 0.0;
  if (by_sample > bound.max_shard) {
    bound.max_shard = by_sample;
    bound.kind = "longest_sample";
  }
  bound.balanced = std::max(bound.balanced, by_sample);
  return bound;
}

}  // namespace routepack::objective
