// Pair swaps between the heaviest EP rank and another one, and a search around their optimum.
#pragma once

#include <cstdint>

#include "placement/rank_state.hpp"
#include "random/stream.hpp"

namespace routepack {

// Swaps an expert of the heaviest rank with one of another rank, each time the pair that leaves
// the lower larger load, until the peak is at most `goal` or no such swap helps. O(E) a swap.
void descend_in_place(RankState& state, std::int64_t goal);

// Iterated local search: a few random swaps, one of them at the heaviest rank, then a descent; kept
// unless the peak rises. Ends at `goal` or after `iterations` rounds. Never raises the peak.
void search_in_place(
    RankState& state, std::int64_t goal, int iterations, const Stream& stream, std::uint32_t step
);

// Swaps displaced experts back to their rank in `home` wherever both loads stay within `limit`.
// Each swap brings at least one expert home and sends none away. O(E * slots) a pass.
void return_home_in_place(RankState& state, const RankOfExpert& home, std::int64_t limit);

}  // namespace routepack
