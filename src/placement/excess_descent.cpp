#include "placement/excess_descent.hpp"

#include <algorithm>
#include <utility>

namespace routepack {

ExcessDescent::ExcessDescent(
    const BlockDemand& demand,
    RankOfExpert start,
    int ep,
    std::vector<std::uint32_t> target,
    SimdLevel level
)
    : price_{start},
      state_(demand, std::move(start), ep),
      scan_(state_, price_, row_kernels(level, PairObjective::kExcess)),
      target_(std::move(target)),
      best_(static_cast<std::size_t>(ep) * static_cast<std::size_t>(ep)),
      changed_(static_cast<std::size_t>(ep), 1) {}

std::optional<PricedSwap> ExcessDescent::step() {
  const auto ep = static_cast<std::size_t>(state_.ep());
  const std::optional<PricedSwap>* best = nullptr;
  for (std::size_t a = 0; a < ep; ++a) {
    for (std::size_t b = a + 1; b < ep; ++b) {
      std::optional<PricedSwap>& swap = best_[a * ep + b];
      if (changed_[EpRank{a}] != 0 || changed_[EpRank{b}] != 0) {
        scan_.open(EpRank{a}, EpRank{b}, target_.data());
        swap = scan_.find_best_swap(moved_);
      }
      if (swap && (best == nullptr || swap->sum_change < (*best)->sum_change)) {
        best = &swap;
      }
    }
  }
  std::fill(changed_.begin(), changed_.end(), char{0});
  if (best == nullptr) {
    return std::nullopt;
  }
  const PricedSwap swap = **best;
  changed_[state_.rank_of_experts()[swap.out]] = 1;
  changed_[state_.rank_of_experts()[swap.in]] = 1;
  state_.swap(swap.out, swap.in);
  moved_ += swap.moves;
  return swap;
}

}  // namespace routepack
