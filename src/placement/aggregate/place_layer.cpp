#include "placement/aggregate/place_layer.hpp"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "placement/aggregate/bounds.hpp"
#include "placement/aggregate/descent.hpp"
#include "placement/aggregate/rank_state.hpp"

namespace routepack::placement {
namespace {

// Heaviest first, ties by id.
std::vector<ExpertId> by_demand_descending(std::span<const std::int64_t> demand) {
  std::vector<ExpertId> order;
  order.reserve(demand.size());
  for (const ExpertId expert : ids<ExpertId>(demand.size())) {
    order.push_back(expert);
  }
  std::sort(order.begin(), order.end(), [&](ExpertId a, ExpertId b) {
    const std::int64_t demand_a = demand[a.offset()];
    const std::int64_t demand_b = demand[b.offset()];
    return demand_a != demand_b ? demand_a > demand_b : a < b;
  });
  return order;
}

// Experts that will share an EP rank.
struct Bundle {
  std::int64_t load = 0;
  std::vector<ExpertId> experts;
};

// One bundle for each EP rank, descending by load.
using Group = std::vector<Bundle>;

std::int64_t spread(const Group& group) { return group.front().load - group.back().load; }

void sort_descending(Group& group) {
  std::sort(group.begin(), group.end(), [](const Bundle& a, const Bundle& b) {
    return a.load != b.load ? a.load > b.load : a.experts.front() < b.experts.front();
  });
}

void merge_into(Group& target, const Group& other) {
  const std::size_t ep = target.size();
  for (std::size_t place = 0; place < ep; ++place) {
    const Bundle& light = other[ep - 1 - place];
    target[place].load += light.load;
    target[place].experts.insert(
        target[place].experts.end(), light.experts.begin(), light.experts.end()
    );
  }
  sort_descending(target);
}

}  // namespace

RankOfExpert place_greedily(std::span<const std::int64_t> demand, int ep) {
  struct Open {
    std::int64_t load;
    EpRank rank;
    std::size_t held;
    bool operator>(const Open& other) const {
      return std::pair(load, rank) > std::pair(other.load, other.rank);
    }
  };
  const std::size_t slots = demand.size() / static_cast<std::size_t>(ep);
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
  for (const EpRank rank : ids<EpRank>(ep)) {
    open.push({0, rank, 0});
  }
  RankOfExpert rank_of{demand.size()};
  for (const ExpertId expert : by_demand_descending(demand)) {
    Open least = open.top();
    open.pop();
    rank_of[expert] = least.rank;
    least.load += demand[expert.offset()];
    if (++least.held < slots) {
      open.push(least);
    }
  }
  return rank_of;
}

RankOfExpert place_by_differencing(std::span<const std::int64_t> demand, int ep) {
  const std::vector<ExpertId> order = by_demand_descending(demand);
  std::vector<Group> groups(demand.size() / static_cast<std::size_t>(ep));
  for (std::size_t place = 0; place < order.size(); ++place) {
    const ExpertId expert = order[place];
    groups[place / static_cast<std::size_t>(ep)].push_back({demand[expert.offset()], {expert}});
  }
  // Widest first; ties: the earlier group.
  const auto narrower = [&](std::size_t a, std::size_t b) {
    const std::int64_t spread_a = spread(groups[a]);
    const std::int64_t spread_b = spread(groups[b]);
    return spread_a != spread_b ? spread_a < spread_b : a > b;
  };
  std::vector<std::size_t> left(groups.size());
  for (std::size_t group = 0; group < groups.size(); ++group) {
    left[group] = group;
  }
  std::make_heap(left.begin(), left.end(), narrower);
  while (left.size() > 1) {
    std::pop_heap(left.begin(), left.end(), narrower);
    const std::size_t other = left.back();
    left.pop_back();
    std::pop_heap(left.begin(), left.end(), narrower);
    merge_into(groups[left.back()], groups[other]);
    std::push_heap(left.begin(), left.end(), narrower);
  }
  RankOfExpert rank_of{demand.size()};
  const Group& merged = groups[left.front()];
  for (const EpRank rank : ids<EpRank>(ep)) {
    for (const ExpertId expert : merged[rank.offset()].experts) {
      rank_of[expert] = rank;
    }
  }
  return rank_of;
}

namespace {

enum SearchStep : std::uint32_t { kLowestPeak, kFewestMoves };

// The lowest peak we find from the current placement (already descended) and from scratch.
RankState find_lowest_peak(
    std::span<const std::int64_t> demand,
    const RankState& incumbent,
    std::int64_t goal,
    const domain::Tuning::Aggregate& tuning,
    const random::Stream& stream
) {
  RankState best = incumbent;
  for (const auto& start : {place_greedily, place_by_differencing}) {
    RankState state{demand, start(demand, incumbent.ep()), incumbent.ep()};
    descend_in_place(state, goal);
    if (state.peak() < best.peak()) {
      best = std::move(state);
    }
  }
  search_in_place(best, goal, tuning.search_iterations, stream, kLowestPeak);
  return best;
}

// As few experts away from `home` as we can do at no more than the state's peak.
RankOfExpert settle(
    std::span<const std::int64_t> demand, const RankState& state, const RankOfExpert& home
) {
  RankState settled{demand, relabel_ranks(state.rank_of_experts(), home, state.ep()), state.ep()};
  return_home_in_place(settled, home, settled.peak());
  return settled.rank_of_experts();
}

// Equal numbers of experts on every rank.
struct Balanced {
  RankOfExpert rank_of;
  std::int64_t peak = 0;
  std::int64_t lower_bound = 0;
};

// The lowest peak found from `home` and from scratch; where `home` is to be kept near, with few
// experts away from it.
Balanced balance_ranks(
    std::span<const std::int64_t> demand,
    int ep,
    const RankOfExpert& home,
    bool keep_near,
    const domain::Tuning::Aggregate& tuning,
    const random::Stream& stream
) {
  const std::int64_t bound = peak_lower_bound(demand, ep);
  RankState incumbent{demand, home, ep};
  if (incumbent.peak() <= bound) {
    return {home, incumbent.peak(), bound};
  }
  descend_in_place(incumbent, bound);
  RankOfExpert chosen;
  if (incumbent.peak() <= bound) {
    chosen = settle(demand, incumbent, home);
  } else {
    const RankState best = find_lowest_peak(demand, incumbent, bound, tuning, stream);
    chosen = settle(demand, best, home);
    if (keep_near) {
      // The current placement, changed just enough for the same peak, may move less.
      RankState near{demand, home, ep};
      descend_in_place(near, best.peak());
      search_in_place(near, best.peak(), tuning.search_iterations, stream, kFewestMoves);
      RankOfExpert other = settle(demand, near, home);
      if (near.peak() <= best.peak() && count_moved(home, other) <= count_moved(home, chosen)) {
        chosen = std::move(other);
      }
    }
  }
  const std::int64_t peak = RankState{demand, chosen, ep}.peak();
  return {
      std::move(chosen), peak,
      peak > bound ? raise_peak_bound(demand, ep, bound, tuning.refutation_steps) : bound};
}

}  // namespace

LayerResult place_layer(
    std::span<const std::int64_t> demand,
    int ep,
    const LayerPlacement* current,
    const PlaceEffort& effort,
    const random::Stream& stream
) {
  const LayerPlacement start =
      current != nullptr
          ? *current
          : identity_placement(1, static_cast<int>(demand.size()), ep).layers[MoeLayer{0}];
  const Balanced found =
      balance_ranks(demand, ep, ranks_of(start, ep), current != nullptr, effort.tuning, stream);
  return {assign_slots(found.rank_of, start, ep), found.peak, found.lower_bound};
}

std::vector<std::int32_t> partition_evenly(
    std::span<const std::int64_t> weights,
    std::span<const std::int32_t> current,
    int num_parts,
    const domain::Tuning::Aggregate& tuning,
    const random::Stream& stream
) {
  RankOfExpert part_of{weights.size()};  // an item is an expert, a part is a rank
  for (const ExpertId item : ids<ExpertId>(weights.size())) {
    part_of[item] = EpRank{current[item.offset()]};
  }
  const Balanced found = balance_ranks(weights, num_parts, part_of, true, tuning, stream);
  std::vector<std::int32_t> parts;
  for (const EpRank part : found.rank_of) {
    parts.push_back(part.value());
  }
  return parts;
}

}  // namespace routepack::placement
