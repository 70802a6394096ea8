// Lower bound on max_shard that holds for every placement and every packing into the rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "routepack/cost.hpp"
#include "routepack/ids.hpp"
#include "routepack/topology.hpp"

namespace routepack {

// Least Σ over (row, shard) of a stage's attention, max over cells: the larger of Σ/dp_per_shard
// and the chunk bound. Samples longer than half the capacity have cells of their own; with their
// costs in descending order, blocks of dp_per_shard cells have maxima of at least every
// dp_per_shard-th cost, the first included.
[[nodiscard]] double attention_lower_bound(
    const IndexVector<SampleId, std::int64_t>& padded_lengths,
    const AttentionStage& stage,
    std::int64_t capacity_tokens,
    int dp_per_shard
);

struct ShardBound {
  double max_shard = 0.0;
  std::string kind;
};

// `peak_bounds`: per MoE layer a lower bound, in pairs, on the largest EP rank's demand under any
// placement. Packing cannot get below it: Σ_{r,g} max_p W ≥ max_p Σ_{r,g} W.
[[nodiscard]] ShardBound max_shard_lower_bound(
    const IndexVector<SampleId, std::int64_t>& padded_lengths,
    const std::vector<std::int64_t>& peak_bounds,
    const Topology& topology,
    const CostModel& cost
);

}  // namespace routepack
