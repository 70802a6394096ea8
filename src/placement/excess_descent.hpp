// The fewest swaps that bring all EP ranks under a target load in every block, greedily: the swap
// that takes most off Σ over ranks and blocks of max(0, load - target), again and again.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "placement/block_state.hpp"
#include "placement/move_price.hpp"
#include "placement/pair_scan.hpp"

namespace routepack {

// Unlike the peaks, the excess of a rank does not depend on other ranks: the best swap of a pair
// stays the best until one of the two takes part in another, and a swap that does not yet lower
// any peak is seen to help.
class ExcessDescent {
 public:
  // Demand must outlive the descent. `target` [stride] pairs.
  ExcessDescent(
      const BlockDemand& demand,
      RankOfExpert start,
      int ep,
      std::vector<std::uint32_t> target,
      SimdLevel level
  );
  ExcessDescent(const ExcessDescent&) = delete;
  ExcessDescent& operator=(const ExcessDescent&) = delete;

  // Takes the best swap of all pairs (ties: the first pair); none if no swap lowers the excess.
  std::optional<PricedSwap> step();
  [[nodiscard]] const BlockState& state() const { return state_; }
  [[nodiscard]] std::int64_t moved() const { return moved_; }

 private:
  MovePrice price_;  // free, from the start
  BlockState state_;
  PairScan scan_;
  std::vector<std::uint32_t> target_;
  std::int64_t moved_ = 0;
  std::vector<std::optional<PricedSwap>> best_;  // [ep][ep], of a < b
  IndexVector<EpRank, char> changed_;            // since the pairs' best swaps were found
};

}  // namespace routepack
