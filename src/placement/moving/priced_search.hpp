// The placement of one layer where every moved expert costs the same: iterated local search on Σ
// over blocks of the peaks + price * moved experts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "placement/blocks/block_kernels.hpp"
#include "placement/moving/trajectory.hpp"
#include "random/stream.hpp"
#include "routepack/placement.hpp"

namespace routepack::placement {

struct PricedSearch {
  const LayerPlacement& current;  // experts count as moved against it
  const LayerPlacement& start;
  std::int64_t price = 0;  // of one moved expert, pairs of Σ of peaks
  const random::Stream& random;
  SimdLevel simd = base::best_simd_level();  // no effect on the result
  domain::Tuning::Moving tuning = {};
};

// Descends from the start; then, as often as the layer's size allows, sends a moved expert of the
// best placement so far back home, swaps up to two more pairs and descends again. Returns `start`
// and the local optima met that no other with as few moved experts is as good as, each as a path
// from the current placement, by moved experts. `demand_by_expert_block` as for refine_layer.
[[nodiscard]] std::vector<SwapPath> search_at_price(
    std::span<const std::uint32_t> demand_by_expert_block,
    int num_blocks,
    int ep,
    const PricedSearch& search
);

}  // namespace routepack::placement
