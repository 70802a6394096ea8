// Pair swaps between the heaviest EP rank and another one, and a search around their optimum.
#pragma once

#include <cstdint>
#include <optional>

#include "placement/aggregate/rank_state.hpp"
#include "random/stream.hpp"

namespace routepack::placement {

struct ExpertSwap {
  ExpertId out;  // of the heavier rank
  ExpertId in;
};

// The swap between the heaviest rank and any other that leaves the lower larger load of the two;
// none if no swap lowers the heaviest load without another one as high. O(E).
[[nodiscard]] std::optional<ExpertSwap> find_best_swap(const RankState& state);

// Takes the best swap until the peak is at most `goal` or none is left.
void descend_in_place(RankState& state, std::int64_t goal);

// Iterated local search: a few random swaps, one of them at the heaviest rank, then a descent; kept
// unless the peak rises. Ends at `goal` or after `iterations` rounds. Never raises the peak.
void search_in_place(
    RankState& state,
    std::int64_t goal,
    int iterations,
    const random::Stream& stream,
    std::uint32_t step
);

// Swaps displaced experts back to their rank in `home` wherever both loads stay within `limit`.
// Each swap brings at least one expert home and sends none away. O(E * slots) a pass.
void return_home_in_place(RankState& state, const RankOfExpert& home, std::int64_t limit);

}  // namespace routepack::placement
