#include "placement/aggregate/descent.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace routepack::placement {
namespace {

// The best exchange of two sorted ranks, as places in them.
struct Exchange {
  std::int64_t larger_load;  // of the two ranks, afterwards
  std::size_t out = 0;
  std::size_t in = 0;
};

// Improves `best` by exchanges between `heavy` and `light`. Sorted demand makes the best partner of
// each expert move one way: two pointers, O(slots).
bool improve(
    Exchange& best,
    std::span<const std::int64_t> heavy,
    std::span<const std::int64_t> light,
    std::int64_t heavy_load,
    std::int64_t light_load
) {
  const std::int64_t gap = heavy_load - light_load;
  const std::int64_t half = gap / 2 + gap % 2;
  bool found = false;
  std::size_t in = 0;  // first of `light` that takes less than half of the gap from `out`
  for (std::size_t out = 0; out < heavy.size(); ++out) {
    while (in < light.size() && heavy[out] - light[in] >= half) {
      ++in;
    }
    if (in > 0) {
      const std::int64_t larger = light_load + (heavy[out] - light[in - 1]);
      if (larger < best.larger_load) {
        best = {larger, out, in - 1};
        found = true;
      }
    }
    if (in < light.size()) {
      const std::int64_t larger = heavy_load - (heavy[out] - light[in]);
      if (larger < best.larger_load) {
        best = {larger, out, in};
        found = true;
      }
    }
  }
  return found;
}

// Swaps until the goal or a local optimum; what it did is appended to `done`.
void descend(RankState& state, std::int64_t goal, std::vector<ExpertSwap>& done) {
  while (true) {
    const std::optional<ExpertSwap> swap =
        state.peak() > goal ? find_best_swap(state) : std::nullopt;
    if (!swap) {
      return;
    }
    state.swap(swap->out, swap->in);
    done.push_back(*swap);
  }
}

// Exchanges a random expert of `rank` with one of another rank.
void perturb(
    RankState& state, EpRank rank, const random::RandomBits& draw, std::vector<ExpertSwap>& done
) {
  const auto others = static_cast<std::uint32_t>(state.ep() - 1);
  const auto slots = static_cast<std::uint32_t>(state.slots());
  const auto drawn = static_cast<EpRank::Value>(draw.below(0, others));
  const EpRank other{drawn + (drawn >= rank.value() ? 1 : 0)};
  const ExpertSwap swap{
      state.experts(rank)[draw.below(1, slots)], state.experts(other)[draw.below(2, slots)]};
  state.swap(swap.out, swap.in);
  done.push_back(swap);
}

}  // namespace

std::optional<ExpertSwap> find_best_swap(const RankState& state) {
  const EpRank heavy = state.heaviest();
  const std::int64_t heavy_load = state.load(heavy);
  Exchange best{heavy_load};
  EpRank partner = heavy;
  for (const EpRank light : ids<EpRank>(state.ep())) {
    const std::int64_t gap = heavy_load - state.load(light);
    if (heavy_load - gap / 2 >= best.larger_load) {
      continue;  // even the perfect exchange would be no better
    }
    if (improve(best, state.demands(heavy), state.demands(light), heavy_load, state.load(light))) {
      partner = light;
    }
  }
  if (partner == heavy) {
    return std::nullopt;
  }
  return ExpertSwap{state.experts(heavy)[best.out], state.experts(partner)[best.in]};
}

void descend_in_place(RankState& state, std::int64_t goal) {
  std::vector<ExpertSwap> done;
  descend(state, goal, done);
}

void search_in_place(
    RankState& state,
    std::int64_t goal,
    int iterations,
    const random::Stream& stream,
    std::uint32_t step
) {
  if (state.ep() == 1) {
    return;
  }
  std::vector<ExpertSwap> done;
  std::int64_t peak = state.peak();
  for (std::uint64_t round = 0; round < static_cast<std::uint64_t>(iterations) && peak > goal;
       ++round) {
    done.clear();
    const random::RandomBits first = stream.at(step, 4 * round);
    perturb(state, state.heaviest(), first, done);
    const std::uint32_t more = first.below(3, 3);
    for (std::uint32_t extra = 1; extra <= more; ++extra) {
      const random::RandomBits draw = stream.at(step, 4 * round + extra);
      const std::size_t rank = draw.below(3, static_cast<std::uint32_t>(state.ep()));
      perturb(state, EpRank{rank}, draw, done);
    }
    descend(state, goal, done);
    const std::int64_t reached = state.peak();
    if (reached <= peak) {
      peak = reached;
      continue;
    }
    for (auto swap = done.rbegin(); swap != done.rend(); ++swap) {
      state.swap(swap->out, swap->in);
    }
  }
}

void return_home_in_place(RankState& state, const RankOfExpert& home, std::int64_t limit) {
  const auto fits = [&](ExpertId a, ExpertId b) {
    const std::int64_t taken = state.demand(a) - state.demand(b);
    return state.load(state.rank_of(a)) - taken <= limit &&
           state.load(state.rank_of(b)) + taken <= limit;
  };
  // The displaced expert in a's home that gains most from taking a's place.
  const auto find_partner = [&](ExpertId a) {
    std::optional<ExpertId> partner;
    for (const ExpertId b : state.experts(home[a])) {
      if (home[b] == home[a] || !fits(a, b)) {
        continue;
      }
      if (home[b] == state.rank_of(a)) {
        return std::optional<ExpertId>{b};
      }
      if (!partner) {
        partner = b;
      }
    }
    return partner;
  };
  bool moved = true;
  while (moved) {
    moved = false;
    for (const ExpertId a : ids<ExpertId>(home.size())) {
      if (state.rank_of(a) == home[a]) {
        continue;
      }
      if (const std::optional<ExpertId> b = find_partner(a)) {
        state.swap(a, *b);
        moved = true;
      }
    }
  }
}

}  // namespace routepack::placement
