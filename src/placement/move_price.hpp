// What a swap costs in moved experts: a price for each, and a limit on all.
#pragma once

#include <cstdint>
#include <limits>

#include "placement/rank_state.hpp"

namespace routepack {

// Experts count as moved while they are not on their rank of `home`.
struct MovePrice {
  RankOfExpert home;
  std::int64_t price = 0;  // of one moved expert, in pairs of Σ of peaks
  std::int64_t max_moved = std::numeric_limits<std::int64_t>::max();

  // -1, 0 or 1: change of the moved experts when `expert` goes from one rank to another.
  [[nodiscard]] std::int32_t moves(ExpertId expert, EpRank from, EpRank to) const {
    return (home[expert] != to ? 1 : 0) - (home[expert] != from ? 1 : 0);
  }
};

}  // namespace routepack
