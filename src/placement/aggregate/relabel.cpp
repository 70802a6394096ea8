#include "placement/aggregate/relabel.hpp"

#include <cstdint>
#include <limits>
#include <vector>

namespace routepack {
namespace {

// Least-cost assignment of rows to columns by shortest augmenting paths with potentials (Jonker
// and Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment
// problems", Computing 38, 1987). `cost` [n][n]; returns the column of every row. O(n³).
// Row and column n are virtual: they hold the row that is being inserted.
std::vector<std::size_t> assign_rows(const std::vector<std::int64_t>& cost, std::size_t n) {
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> row_potential(n + 1, 0);
  std::vector<std::int64_t> column_potential(n + 1, 0);
  std::vector<std::size_t> row_of(n + 1, n);  // n: free
  std::vector<std::size_t> previous(n + 1, n);
  std::vector<std::int64_t> distance(n + 1);
  std::vector<char> reached(n + 1);
  for (std::size_t inserted = 0; inserted < n; ++inserted) {
    row_of[n] = inserted;
    distance.assign(n + 1, kFar);
    reached.assign(n + 1, 0);
    std::size_t column = n;
    do {
      reached[column] = 1;
      const std::size_t row = row_of[column];
      std::int64_t nearest = kFar;
      std::size_t next = n;
      for (std::size_t other = 0; other < n; ++other) {
        if (reached[other] != 0) {
          continue;
        }
        const std::int64_t reduced =
            cost[row * n + other] - row_potential[row] - column_potential[other];
        if (reduced < distance[other]) {
          distance[other] = reduced;
          previous[other] = column;
        }
        if (distance[other] < nearest) {
          nearest = distance[other];
          next = other;
        }
      }
      for (std::size_t other = 0; other <= n; ++other) {
        if (reached[other] != 0) {
          row_potential[row_of[other]] += nearest;
          column_potential[other] -= nearest;
        } else if (distance[other] != kFar) {
          distance[other] -= nearest;
        }
      }
      column = next;
    } while (row_of[column] != n);
    while (column != n) {
      row_of[column] = row_of[previous[column]];
      column = previous[column];
    }
  }
  std::vector<std::size_t> column_of(n);
  for (std::size_t column = 0; column < n; ++column) {
    column_of[row_of[column]] = column;
  }
  return column_of;
}

}  // namespace

RankOfExpert relabel_ranks(const RankOfExpert& rank_of, const RankOfExpert& home, int ep) {
  const auto n = static_cast<std::size_t>(ep);
  // A kept expert weighs more than the numbers of all groups together.
  const std::int64_t kept = std::int64_t{ep} + 1;
  std::vector<std::int64_t> cost(n * n, 0);
  for (const ExpertId expert : ids<ExpertId>(rank_of.size())) {
    cost[rank_of[expert].offset() * n + home[expert].offset()] -= kept;
  }
  for (std::size_t rank = 0; rank < n; ++rank) {
    cost[rank * n + rank] -= 1;
  }
  const std::vector<std::size_t> new_rank = assign_rows(cost, n);
  RankOfExpert relabelled{rank_of.size()};
  for (const ExpertId expert : ids<ExpertId>(rank_of.size())) {
    relabelled[expert] = EpRank{new_rank[rank_of[expert].offset()]};
  }
  return relabelled;
}

LayerPlacement assign_slots(const RankOfExpert& rank_of, const LayerPlacement& current, int ep) {
  const int per_rank = static_cast<int>(current.size()) / ep;
  LayerPlacement slots{current.size(), SlotId{-1}};
  IndexVector<SlotId, bool> taken{current.size(), false};
  const auto take = [&](ExpertId expert, SlotId slot) {
    if (taken[slot]) {
      return false;
    }
    slots[expert] = slot;
    taken[slot] = true;
    return true;
  };
  std::vector<ExpertId> arrivals;
  for (const ExpertId expert : ids<ExpertId>(current.size())) {
    if (current[expert].value() / per_rank == rank_of[expert].value()) {
      take(expert, current[expert]);
    } else {
      arrivals.push_back(expert);
    }
  }
  std::vector<ExpertId> left;
  for (const ExpertId expert : arrivals) {
    const int local = current[expert].value() % per_rank;
    if (!take(expert, SlotId{rank_of[expert].value() * per_rank + local})) {
      left.push_back(expert);
    }
  }
  IndexVector<EpRank, int> next{static_cast<std::size_t>(ep), 0};  // local slot to try
  for (const ExpertId expert : left) {
    const EpRank rank = rank_of[expert];
    while (!take(expert, SlotId{rank.value() * per_rank + next[rank]})) {
      ++next[rank];
    }
  }
  return slots;
}

RelabelledLayer relabel_layer(const RankOfExpert& rank_of, const LayerPlacement& current, int ep) {
  const RankOfExpert home = ranks_of(current, ep);
  const RankOfExpert relabelled = relabel_ranks(rank_of, home, ep);
  return {assign_slots(relabelled, current, ep), count_moved(home, relabelled)};
}

}  // namespace routepack
