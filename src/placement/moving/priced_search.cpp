#include "placement/moving/priced_search.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "placement/moving/block_descent.hpp"

namespace routepack::placement {
namespace {

// A round costs about E² · blocks steps; as many as keep a layer to some milliseconds.
int num_rounds(
    const domain::Tuning::Moving& tuning, std::size_t experts, std::size_t padded_blocks
) {
  return static_cast<int>(std::clamp<std::size_t>(
      tuning.search_work / (experts * experts * padded_blocks), 2, tuning.most_rounds
  ));
}

struct LocalOptimum {
  std::int64_t sum_peaks = 0;
  RankOfExpert rank_of;
};

// By moved experts, each with a lower sum than all with fewer.
class Front {
 public:
  void offer(std::int64_t moved, LocalOptimum optimum) {
    const auto above = optima_.upper_bound(moved);
    if (above != optima_.begin() && std::prev(above)->second.sum_peaks <= optimum.sum_peaks) {
      return;
    }
    auto worse = optima_.lower_bound(moved);
    while (worse != optima_.end() && worse->second.sum_peaks >= optimum.sum_peaks) {
      worse = optima_.erase(worse);
    }
    optima_.emplace(moved, std::move(optimum));
  }
  [[nodiscard]] const std::map<std::int64_t, LocalOptimum>& optima() const { return optima_; }

 private:
  std::map<std::int64_t, LocalOptimum> optima_;
};

// An expert away from home and one on its home rank that is not at home there, else any there.
struct Return {
  ExpertId expert;
  ExpertId occupant;
};

std::optional<Return> choose_return(
    const RankOfExpert& rank_of, const RankOfExpert& home, const random::RandomBits& draw
) {
  std::vector<ExpertId> away;
  for (const ExpertId expert : ids<ExpertId>(home.size())) {
    if (rank_of[expert] != home[expert]) {
      away.push_back(expert);
    }
  }
  if (away.empty()) {
    return std::nullopt;
  }
  const ExpertId expert = away[draw.below(0, static_cast<std::uint32_t>(away.size()))];
  std::vector<ExpertId> guests;  // at least one, as a rank's experts are as many as at home
  std::copy_if(away.begin(), away.end(), std::back_inserter(guests), [&](ExpertId other) {
    return rank_of[other] == home[expert];
  });
  return Return{expert, guests[draw.below(1, static_cast<std::uint32_t>(guests.size()))]};
}

RankOfExpert perturb(
    RankOfExpert rank_of,
    const RankOfExpert& home,
    const random::Stream& random,
    std::uint32_t round
) {
  const random::RandomBits first = random.at(round, 0);
  if (const std::optional<Return> chosen = choose_return(rank_of, home, first)) {
    std::swap(rank_of[chosen->expert], rank_of[chosen->occupant]);
  }
  const auto experts = static_cast<std::uint32_t>(rank_of.size());
  const std::uint32_t num_swaps = first.below(2, 3);
  for (std::uint64_t swap = 1; swap <= num_swaps; ++swap) {
    const random::RandomBits draw = random.at(round, swap);
    const ExpertId one{static_cast<std::int32_t>(draw.below(0, experts))};
    const ExpertId other{static_cast<std::int32_t>(draw.below(1, experts))};
    std::swap(rank_of[one], rank_of[other]);
  }
  return rank_of;
}

// The search of one layer, and what it has met.
class Search {
 public:
  Search(const BlockDemand& demand, int ep, const PricedSearch& search)
      : demand_(demand),
        ep_(ep),
        price_{ranks_of(search.current, ep), search.price},
        simd_(search.simd),
        max_passes_(search.tuning.search_passes),
        best_(ranks_of(search.start, ep)) {
    offer(best_);
  }

  // Descends from a placement and takes what is not worse.
  void descend(RankOfExpert start) {
    BlockDescent descent{demand_, std::move(start), ep_, price_, simd_};
    descent.descend(max_passes_);
    const RankOfExpert& end = descent.state().rank_of_experts();
    front_.offer(descent.moved(), {descent.sum_peaks(), end});
    const std::int64_t cost = descent.sum_peaks() + price_.price * descent.moved();
    if (cost <= best_cost_) {
      best_cost_ = cost;
      best_ = end;
    }
  }
  [[nodiscard]] RankOfExpert perturbed(const random::Stream& random, int round) const {
    return perturb(best_, price_.home, random, static_cast<std::uint32_t>(round));
  }
  [[nodiscard]] const RankOfExpert& best() const { return best_; }
  [[nodiscard]] std::vector<SwapPath> paths() const {
    std::vector<SwapPath> paths;
    for (const auto& [moved, optimum] : front_.optima()) {
      paths.push_back(path_to(demand_, price_.home, optimum.rank_of, ep_));
    }
    return paths;
  }

 private:
  void offer(const RankOfExpert& rank_of) {
    front_.offer(
        count_moved(price_.home, rank_of), {BlockState{demand_, rank_of, ep_}.sum_peaks(), rank_of}
    );
  }

  const BlockDemand& demand_;
  int ep_;
  MovePrice price_;
  SimdLevel simd_;
  int max_passes_;
  Front front_;
  RankOfExpert best_;
  std::int64_t best_cost_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace

std::vector<SwapPath> search_at_price(
    std::span<const std::uint32_t> demand_by_expert_block,
    int num_blocks,
    int ep,
    const PricedSearch& search
) {
  const BlockDemand demand{demand_by_expert_block, num_blocks};
  Search layer(demand, ep, search);
  layer.descend(layer.best());
  const int rounds = num_rounds(search.tuning, search.current.size(), demand.stride());
  for (int round = 1; round <= rounds; ++round) {
    layer.descend(layer.perturbed(search.random, round));
  }
  return layer.paths();
}

}  // namespace routepack::placement
