#include "objective/bound.hpp"

#include <algorithm>
#include <numeric>

#include "objective/attention_bound.hpp"
#include "objective/attention_cost.hpp"

namespace routepack {
namespace {

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

}  // namespace routepack
