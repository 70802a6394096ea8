#include "objective/bound.hpp"

#include "objective/attention_bound.hpp"

namespace routepack {

ShardBound max_shard_lower_bound(
    const IndexVector<SampleId, std::int64_t>& padded_lengths,
    const std::vector<std::int64_t>& peak_bounds,
    const Topology& topology,
    const CostModel& cost
) {
  double attention = 0.0;
  bool above_mean = false;
  for (const AttentionStage& stage : cost.stages) {
    const AttentionBound bound =
        attention_lower_bound(padded_lengths, stage, cost.capacity_tokens, topology.dp_per_shard());
    attention += bound.cost;
    above_mean = above_mean || bound.above_mean;
  }
  std::int64_t peaks = 0;
  for (const std::int64_t peak : peak_bounds) {
    peaks += peak;
  }
  const double experts =
      cost.expert_weight * static_cast<double>(peaks) / static_cast<double>(cost.capacity_tokens);
  ShardBound bound;
  bound.max_shard = (attention + experts) / topology.edp();
  bound.balanced = bound.max_shard;
  bound.kind = above_mean ? "mean_shard_long_samples" : "mean_shard";
  return bound;
}

}  // namespace routepack
