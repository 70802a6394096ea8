#include "placement/aggregate/rank_state.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/check.hpp"

namespace routepack::placement {
RankOfExpert ranks_of(const LayerPlacement& slots, int ep) {
  RankOfExpert ranks{slots.size()};
  const int per_rank = static_cast<int>(slots.size()) / ep;
  for (const ExpertId expert : ids<ExpertId>(slots.size())) {
    ranks[expert] = EpRank{slots[expert].value() / per_rank};
  }
  return ranks;
}

std::int64_t count_moved(const RankOfExpert& before, const RankOfExpert& after) {
  std::int64_t moved = 0;
  for (const ExpertId expert : ids<ExpertId>(before.size())) {
    moved += before[expert] != after[expert] ? 1 : 0;
  }
  return moved;
}

RankState::RankState(std::span<const std::int64_t> demand, RankOfExpert rank_of, int ep)
    : demand_(demand),
      ep_(ep),
      slots_(demand.size() / static_cast<std::size_t>(ep)),
      rank_of_(std::move(rank_of)),
      load_(static_cast<std::size_t>(ep), 0),
      sorted_demand_(demand.size()),
      sorted_expert_(demand.size()) {
  std::vector<std::size_t> held(static_cast<std::size_t>(ep), 0);
  for (const ExpertId expert : ids<ExpertId>(demand.size())) {
    const std::size_t rank = rank_of_[expert].offset();
    RP_ASSERT(light, held[rank] < slots_, "EP rank {} holds more than {} experts", rank, slots_);
    sorted_expert_[rank * slots_ + held[rank]++] = expert;
    load_[rank] += demand[expert.offset()];
  }
  for (std::size_t begin = 0; begin < demand.size(); begin += slots_) {
    const auto first = sorted_expert_.begin() + static_cast<std::ptrdiff_t>(begin);
    std::sort(first, first + static_cast<std::ptrdiff_t>(slots_), [&](ExpertId a, ExpertId b) {
      return std::pair(demand[a.offset()], a) < std::pair(demand[b.offset()], b);
    });
  }
  for (std::size_t place = 0; place < demand.size(); ++place) {
    sorted_demand_[place] = demand[sorted_expert_[place].offset()];
  }
}

EpRank RankState::heaviest() const {
  return EpRank{
      static_cast<std::size_t>(std::max_element(load_.begin(), load_.end()) - load_.begin())};
}

void RankState::swap(ExpertId a, ExpertId b) {
  const EpRank rank_a = rank_of_[a];
  const EpRank rank_b = rank_of_[b];
  replace(rank_a, a, b);
  replace(rank_b, b, a);
  rank_of_[a] = rank_b;
  rank_of_[b] = rank_a;
}

void RankState::replace(EpRank rank, ExpertId out, ExpertId in) {
  const std::int64_t demand_in = demand(in);
  load_[rank.offset()] += demand_in - demand(out);
  std::int64_t* const demands = sorted_demand_.data() + rank.offset() * slots_;
  ExpertId* const experts = sorted_expert_.data() + rank.offset() * slots_;
  std::size_t place = 0;
  while (experts[place] != out) {
    ++place;
  }
  const auto below = [&](std::size_t other) {  // `in` sorts below what stands at `other`
    return demand_in < demands[other] || (demand_in == demands[other] && in < experts[other]);
  };
  for (; place > 0 && below(place - 1); --place) {
    demands[place] = demands[place - 1];
    experts[place] = experts[place - 1];
  }
  for (; place + 1 < slots_ && !below(place + 1); ++place) {
    demands[place] = demands[place + 1];
    experts[place] = experts[place + 1];
  }
  demands[place] = demand_in;
  experts[place] = in;
}

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

}  // namespace routepack::placement
