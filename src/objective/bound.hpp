// Lower bounds on max_shard that hold for every packing into the rows used and for every placement
// whose peaks the caller bounds.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/cell_rules.hpp"
#include "routepack/cost.hpp"
#include "routepack/ids.hpp"
#include "routepack/plan.hpp"
#include "routepack/topology.hpp"

namespace routepack {

struct BoundInput {
  const IndexVector<SampleId, std::int64_t>& padded_lengths;
  // Per sample the fewest routed pairs that it has at any MoE layer.
  const IndexVector<SampleId, std::int64_t>& routed_pairs;
  // Per MoE layer all routed pairs, and a bound on the largest EP rank's share of them.
  const std::vector<std::int64_t>& layer_pairs;
  const std::vector<std::int64_t>& peak_bounds;
  const Topology& topology;
  const CostModel& cost;
  const CellRules& rules;
  int num_rows = 1;
};

// The better one of two bounds. No shard's cost is below the mean of all, which takes at least the
// attention bounds of the stages and the layers' peak bounds: packing cannot get below these, as
// Σ_{r,g} max_p W >= max_p Σ_{r,g} W. Kind "mean_shard", or "mean_shard_long_samples" where forced
// cells raise attention above its mean. And with several shards the one that runs a given sample
// pays for it, for the least that the other cells of its rows can hold, and for the mean of all
// these samples' pairs over the EP ranks: kind "longest_sample", though the costliest counts.
[[nodiscard]] ShardBound max_shard_lower_bound(const BoundInput& input);

}  // namespace routepack
