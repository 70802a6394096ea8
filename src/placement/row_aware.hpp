// Row-aware placement: with the layout fixed, what counts is not a layer's total on the heaviest
// rank but the sum of the peaks of its blocks, a block being one (row, EDP shard).
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "placement/row_kernels.hpp"
#include "routepack/placement.hpp"

namespace routepack {

struct RowAwareOptions {
  int max_passes = 8;  // over the pairs of EP ranks
  // Experts count as moved against this placement; null: against the start.
  const LayerPlacement* current = nullptr;
  std::int64_t price_per_moved = 0;  // pairs of the sum that a moved expert must save
  std::int64_t max_moved = std::numeric_limits<std::int64_t>::max();
  SimdLevel simd = best_simd_level();  // no effect on the result
};

struct RowAwareResult {
  LayerPlacement slots;
  std::int64_t sum_before = 0;  // Σ over blocks of the peak, in pairs
  std::int64_t sum_peaks = 0;
  std::int64_t moved_experts = 0;  // against options.current, else the start
  std::int64_t num_swaps = 0;
  bool local_optimum = false;  // no swap of two experts pays any more
};

// Descends by swaps of two experts from `start` on sum + price * moved experts, which never rises,
// then renumbers the EP ranks so that least experts move. `demand_by_expert_block` [E][num_blocks
// padded with zeros to a multiple of 16] pairs; E a multiple of ep. At most `max_moved` experts
// are moved, or as many as in the start. Throws NUMBER_OUT_OF_RANGE where a block's total does not
// fit 32 bits. A pass costs O(E² / ep * blocks) at most; exact bounds prune most of it.
[[nodiscard]] RowAwareResult refine_layer(
    std::span<const std::uint32_t> demand_by_expert_block,
    int num_blocks,
    int ep,
    const LayerPlacement& start,
    const RowAwareOptions& options
);

}  // namespace routepack
