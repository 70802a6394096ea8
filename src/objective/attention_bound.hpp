// What attention costs at least, whatever the packing: the part of the bound on max_shard that
// knows samples and cells.
#pragma once

#include <cstdint>

#include "routepack/cost.hpp"
#include "routepack/ids.hpp"

namespace routepack {

struct AttentionBound {
  double cost = 0.0;        // of one stage, Σ over (row, shard) of the costliest cell
  bool above_mean = false;  // by long samples: above Σ cost of all samples / dp_per_shard
};

// Holds for every packing into blocks of `dp_per_shard` cells within the capacity, whatever their
// number. O(N log N).
//
// Let B(x) blocks and N(x) cells cost more than x; their costs add up to ∫B dx and to the cost of
// all samples, S = ∫N dx, and B >= N / D. Samples longer than half the capacity have cells of their
// own, so B >= K = ceil(number of them that cost more than x / D). And N <= M, the number of
// samples that can be the longest of a cell that costs more than x: such a cell holds its longest
// sample and, in the rest of the capacity, others no longer. Together B >= K + max(0, N - D·K) / D,
//   ∫B dx >= ∫K dx + max(0, S - ∫min(D·K, M) dx) / D.
// The first integral alone sums every D-th cost of the long samples, costliest first; without long
// samples the bound is the mean S / D. What the long samples' blocks cannot hold (M < D·K: few
// samples fill a cell as far as the longest does) is what lies above both.
[[nodiscard]] AttentionBound attention_lower_bound(
    const IndexVector<SampleId, std::int64_t>& padded_lengths,
    const AttentionStage& stage,
    std::int64_t capacity_tokens,
    int dp_per_shard
);

}  // namespace routepack
