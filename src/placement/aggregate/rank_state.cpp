#include "placement/aggregate/rank_state.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace routepack {
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

}  // namespace routepack
