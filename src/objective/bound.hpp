// Lower bound on max_shard that holds for every placement and every packing, whatever the number of
// rows: no shard's cost is below the mean of all, which takes at least the sums of attention_bound
// and of the layers' peak bounds.
#pragma once

#include <cstdint>
#include <vector>

#include "routepack/cost.hpp"
#include "routepack/ids.hpp"
#include "routepack/plan.hpp"
#include "routepack/topology.hpp"

namespace routepack {

// `peak_bounds`: per MoE layer a lower bound, in pairs, on the largest EP rank's demand under any
// placement. Packing cannot get below it: Σ_{r,g} max_p W ≥ max_p Σ_{r,g} W. Kind "mean_shard", or
// "mean_shard_long_samples" where these raise attention.
[[nodiscard]] ShardBound max_shard_lower_bound(
    const IndexVector<SampleId, std::int64_t>& padded_lengths,
    const std::vector<std::int64_t>& peak_bounds,
    const Topology& topology,
    const CostModel& cost
);

}  // namespace routepack
