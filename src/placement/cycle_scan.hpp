// Three experts that change places in a circle: what no sequence of swaps reaches downhill. Worth
// its cost where ranks hold few experts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "placement/blocks/block_state.hpp"
#include "placement/moving/pair_scan.hpp"

namespace routepack {

// Each expert goes to the rank of the next, the last to that of the first.
struct ExpertCycle {
  std::array<ExpertId, 3> experts;
  std::int64_t sum_change = 0;  // of Σ over blocks of the peaks
  std::int32_t moves = 0;       // change of the moved experts
};

// The cycle over three ranks that lowers Σ of the peaks + price * moved experts most; none if none
// does. Ties: the first in the order of ranks, then experts. O(E³ * blocks).
[[nodiscard]] std::optional<ExpertCycle> find_best_cycle(
    const BlockState& state, const MovePrice& price
);

}  // namespace routepack
