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

namespace routepack::objective {

// What attention costs at least, whatever the packing: the part of the bound that knows samples and
// cells.
struct AttentionBound {
  double cost = 0.0;        // of one stage, Σ over (row, shard) of the costliest cell
  bool above_mean = false;  // above Σ cost of all samples / dp_per_shard
};

// What the samples are packed into.
struct CellGrid {
  int num_cells = 1;        // none empty
  int cells_per_block = 1;  // dp_per_shard
};

// Holds for every packing of the samples into such cells under the rules. O(N log N).
//
// Let B(x) blocks and N(x) cells cost more than x; their costs add up to ∫B dx and to at least the
// cost of all samples, S <= ∫N dx. B >= N / D. How many cells must cost more than x is known in
// three ways: samples longer than half the capacity have cells of their own; the costliest sample
// has one; and of all samples only (samples - cells) are not the longest of their cell, so of n
// samples that cost more than x at least n - (samples - cells) are. With F(x) the best of the
// three, B >= K = ceil(F / D). And N <= M, the number of samples that can be the longest of a cell
// that costs more than x: such a cell holds its longest sample and, in the rest of the capacity,
// others no longer. Together B >= K + max(0, N - D·K) / D, so
//   ∫B dx >= ∫K dx + max(0, S - ∫min(D·K, M) dx) / D.
// The first integral alone sums every D-th of the costs in F, costliest first; where the mean is
// all that is known it is S / D. What the forced blocks cannot hold (M < D·K: few samples fill a
// cell as far as the longest does) is what lies above both. Exact where every cell has one sample
// and no fill. Fill only adds to every cell, so the bound without it holds.
[[nodiscard]] AttentionBound attention_lower_bound(
    const IndexVector<SampleId, std::int64_t>& padded_lengths,
    const AttentionStage& stage,
    const CellGrid& grid,
    const domain::CellRules& rules
);

struct BoundInput {
  const IndexVector<SampleId, std::int64_t>& padded_lengths;
  // Per sample the fewest routed pairs that it has at any MoE layer.
  const IndexVector<SampleId, std::int64_t>& routed_pairs;
  // Per MoE layer all routed pairs, and a bound on the largest EP rank's share of them.
  const std::vector<std::int64_t>& layer_pairs;
  const std::vector<std::int64_t>& peak_bounds;
  const Topology& topology;
  const CostModel& cost;
  const domain::CellRules& rules;
  int num_rows = 1;
};

// The better one of two bounds. No shard's cost is below the mean of all, which takes at least the
// attention bounds of the stages and the layers' peak bounds: packing cannot get below these, as
// Σ_{r,g} max_p W >= max_p Σ_{r,g} W. Kind "mean_shard", or "mean_shard_long_samples" where forced
// cells raise attention above its mean. And with several shards the one that runs a given sample
// pays for it, for the least that the other cells of its rows can hold, and for the mean of all
// these samples' pairs over the EP ranks: kind "longest_sample", though the costliest counts.
[[nodiscard]] ShardBound max_shard_lower_bound(const BoundInput& input);

}  // namespace routepack::objective
