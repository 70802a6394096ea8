// EP ranks of one layer are interchangeable: which of them gets which group of experts, and which
// slots within it, so that least experts move.
#pragma once

#include "placement/aggregate/rank_state.hpp"

namespace routepack {

// The same groups of experts under other rank numbers: as many experts as possible keep the rank
// they have in `home` (an exact assignment); among these, as many groups as possible keep their
// number. O(ep³).
[[nodiscard]] RankOfExpert relabel_ranks(
    const RankOfExpert& rank_of, const RankOfExpert& home, int ep
);

// Experts that stay on their rank keep their slot of `current`; arrivals, by id, take the local
// slot that they come from if it is free, then the free slots in ascending order.
[[nodiscard]] LayerPlacement assign_slots(
    const RankOfExpert& rank_of, const LayerPlacement& current, int ep
);

// Both, against `current`.
struct RelabelledLayer {
  LayerPlacement slots;
  std::int64_t moved_experts = 0;
};
[[nodiscard]] RelabelledLayer relabel_layer(
    const RankOfExpert& rank_of, const LayerPlacement& current, int ep
);

}  // namespace routepack
