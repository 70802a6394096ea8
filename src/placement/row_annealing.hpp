// Row-aware placement by annealing: swaps of two experts on Σ over blocks of the peaks, downhill
// and, while it is hot, uphill too. Leaves the local optima that a descent ends in.
#pragma once

#include <cstdint>
#include <span>

#include "placement/row_aware.hpp"
#include "random/acceptance.hpp"
#include "random/stream.hpp"

namespace routepack {

// How long and with which draws.
struct AnnealingEffort {
  std::int64_t num_moves = 0;  // proposed swaps
  const Stream& random;
  std::uint32_t round = 0;  // step of the stream; one for each call that shall draw anew
  const Acceptance& acceptance;
};

// The best placement met on the way, by sum + price * moved experts; never worse than `start`, and
// at most `max_moved` experts moved or as many as in the start. Otherwise as refine_layer, but
// nothing is claimed of a local optimum. A move costs O(blocks * log ep), an accepted one about
// twice that.
[[nodiscard]] RowAwareResult anneal_layer(
    std::span<const std::uint32_t> demand_by_expert_block,
    int num_blocks,
    int ep,
    const LayerPlacement& start,
    const RowAwareOptions& options,
    const AnnealingEffort& effort
);

}  // namespace routepack
