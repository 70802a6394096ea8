#include "objective/bound.hpp"

#include <algorithm>
#include <functional>

namespace routepack {

double attention_lower_bound(
    const IndexVector<SampleId, std::int64_t>& padded_lengths,
    const AttentionStage& stage,
    std::int64_t capacity_tokens,
    int dp_per_shard
) {
  double total_fill = 0.0;
  double total_squared_fill = 0.0;
  std::vector<double> alone;  // costs of samples that share no cell with another such
  for (const std::int64_t length : padded_lengths) {
    const double fill = static_cast<double>(length) / static_cast<double>(capacity_tokens);
    total_fill += fill;
    total_squared_fill += fill * fill;
    if (2 * length > capacity_tokens) {
      alone.push_back(stage.alpha * fill + stage.beta * fill * fill);
    }
  }
  const double mean = (stage.alpha * total_fill + stage.beta * total_squared_fill) / dp_per_shard;
  std::sort(alone.begin(), alone.end(), std::greater<>());
  double chunks = 0.0;
  for (std::size_t first = 0; first < alone.size();
       first += static_cast<std::size_t>(dp_per_shard)) {
    chunks += alone[first];
  }
  return std::max(mean, chunks);
}

ShardBound max_shard_lower_bound(
    const IndexVector<SampleId, std::int64_t>& padded_lengths,
    const std::vector<std::int64_t>& peak_bounds,
    const Topology& topology,
    const CostModel& cost
) {
  double attention = 0.0;
  for (const AttentionStage& stage : cost.stages) {
    attention +=
        attention_lower_bound(padded_lengths, stage, cost.capacity_tokens, topology.dp_per_shard());
  }
  std::int64_t peaks = 0;
  for (const std::int64_t peak : peak_bounds) {
    peaks += peak;
  }
  const double experts =
      cost.expert_weight * static_cast<double>(peaks) / static_cast<double>(cost.capacity_tokens);
  return ShardBound{(attention + experts) / topology.edp(), "mean_shard"};
}

}  // namespace routepack
