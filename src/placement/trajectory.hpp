// How far a layer gets with how many moved experts: sequences of swaps from the current placement,
// and the placement that moves freely. Pure, one layer each; migrate.hpp chooses over layers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "placement/place_layer.hpp"
#include "placement/row_kernels.hpp"
#include "placement/swap_path.hpp"
#include "random/stream.hpp"
#include "routepack/placement.hpp"

namespace routepack {

struct SwapTrajectory {
  std::int64_t objective = 0;   // of the current placement
  std::vector<SwapPath> paths;  // each from the current placement
  // Where moving costs nothing.
  LayerPlacement free_slots;
  std::int64_t free_objective = 0;
  std::int64_t free_moved_experts = 0;
};

// Objective: the layer's peak. One path, whose swaps relieve the heaviest EP rank each time.
// `demand` [E] pairs as for place_layer, `current` a permutation.
[[nodiscard]] SwapTrajectory peak_trajectory(
    std::span<const std::int64_t> demand,
    int ep,
    const LayerPlacement& current,
    const PlaceEffort& effort,
    const Stream& stream
);

// Objective: Σ over blocks of the peaks. On one path swaps are taken in rounds of a falling price
// for a moved expert, so that early ones gain most; two bring the ranks under target loads, between
// the peaks of the free and of the current placement, in few swaps; the last goes to the free
// placement and from there back, as the price rises.
// `demand_by_expert_block` as for refine_layer.
[[nodiscard]] SwapTrajectory row_trajectory(
    std::span<const std::uint32_t> demand_by_expert_block,
    int num_blocks,
    int ep,
    const LayerPlacement& current,
    const PlaceEffort& effort,
    const Stream& stream,
    SimdLevel simd = best_simd_level()
);

}  // namespace routepack
