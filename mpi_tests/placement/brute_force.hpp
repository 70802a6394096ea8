// Every way to group a few experts: the oracle of the placement tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "placement/aggregate/rank_state.hpp"

namespace routepack::testing {

// Calls visit(rank_of, peak) for every assignment of experts to EP ranks with equal slots. With
// `labelled` false, one numbering of the ranks for each grouping.
template <class Visit>
void for_each_placement(
    std::span<const std::int64_t> demand, int ep, bool labelled, const Visit& visit
) {
  const std::size_t slots = demand.size() / static_cast<std::size_t>(ep);
  placement::RankOfExpert rank_of{demand.size()};
  std::vector<std::size_t> held(static_cast<std::size_t>(ep), 0);
  std::vector<std::int64_t> load(static_cast<std::size_t>(ep), 0);
  const auto place = [&](const auto& self, std::size_t expert) -> void {
    if (expert == demand.size()) {
      visit(rank_of, *std::max_element(load.begin(), load.end()));
      return;
    }
    for (std::size_t rank = 0; rank < held.size(); ++rank) {
      const bool was_empty = held[rank] == 0;
      if (held[rank] < slots) {
        rank_of[ExpertId{expert}] = EpRank{rank};
        ++held[rank];
        load[rank] += demand[expert];
        self(self, expert + 1);
        --held[rank];
        load[rank] -= demand[expert];
      }
      if (was_empty && !labelled) {
        break;
      }
    }
  };
  place(place, 0);
}

[[nodiscard]] inline std::int64_t optimal_peak(std::span<const std::int64_t> demand, int ep) {
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for_each_placement(demand, ep, false, [&](const placement::RankOfExpert&, std::int64_t peak) {
    best = std::min(best, peak);
  });
  return best;
}

// Fewest experts away from `home` in any placement of at most this peak.
[[nodiscard]] inline std::int64_t fewest_moves(
    std::span<const std::int64_t> demand,
    int ep,
    const placement::RankOfExpert& home,
    std::int64_t limit
) {
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for_each_placement(
      demand, ep, true,
      [&](const placement::RankOfExpert& rank_of, std::int64_t peak) {
        if (peak <= limit) {
          best = std::min(best, placement::count_moved(home, rank_of));
        }
      }
  );
  return best;
}

}  // namespace routepack::testing
