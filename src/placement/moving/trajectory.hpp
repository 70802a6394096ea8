// Ways from the current placement of a layer, one swap of two experts after another.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "placement/aggregate/place_layer.hpp"
#include "placement/blocks/block_kernels.hpp"
#include "placement/blocks/block_state.hpp"
#include "placement/moving/pair_scan.hpp"
#include "random/stream.hpp"
#include "routepack/placement.hpp"

namespace routepack::placement {

// Two experts exchange their slots; the figures hold after it.
struct SwapStep {
  ExpertId a;
  ExpertId b;
  std::int64_t objective = 0;      // pairs: the layer's peak, or Σ of its blocks' peaks
  std::int64_t moved_experts = 0;  // against the current placement; may fall
  bool operator==(const SwapStep&) const = default;
};

// Every prefix is a placement to choose from.
using SwapPath = std::vector<SwapStep>;

// Swaps that bring every expert to its rank of `target`: first those that bring two there at once.
// As many experts a rank in `home` and in `target`. The objective is Σ of the blocks' peaks.
[[nodiscard]] SwapPath path_to(
    const BlockDemand& demand, const RankOfExpert& home, const RankOfExpert& target, int ep
);

// The fewest swaps that bring all EP ranks under a target load in every block, greedily: the swap
// that takes most off Σ over ranks and blocks of max(0, load - target), again and again.
//
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

// How far a layer gets with how many moved experts: sequences of swaps from the current placement,
// and the placement that moves freely. Pure, one layer each; migrate.hpp chooses over layers.
struct SwapTrajectory {
  std::int64_t objective = 0;   // of the current placement
  std::vector<SwapPath> paths;  // each from the current placement
  // Where moving costs nothing.
  LayerPlacement free_slots;
  std::int64_t free_objective = 0;
  std::int64_t free_moved_experts = 0;
};

// Objective: the layer's peak. One path, whose swaps relieve the heaviest EP rank each time.
// `demand` [E] pairs as for place_layer, `current` a permutation.
[[nodiscard]] SwapTrajectory peak_trajectory(
    std::span<const std::int64_t> demand,
    int ep,
    const LayerPlacement& current,
    const PlaceEffort& effort,
    const random::Stream& stream
);

// Objective: Σ over blocks of the peaks. On one path swaps are taken in rounds of a falling price
// for a moved expert, so that early ones gain most; two bring the ranks under target loads, between
// the peaks of the free and of the current placement, in few swaps; the last goes to the free
// placement and from there back, as the price rises.
// `demand_by_expert_block` as for refine_layer.
[[nodiscard]] SwapTrajectory block_trajectory(
    std::span<const std::uint32_t> demand_by_expert_block,
    int num_blocks,
    int ep,
    const LayerPlacement& current,
    const PlaceEffort& effort,
    const random::Stream& stream,
    SimdLevel simd = base::best_simd_level(),
    const domain::Tuning::Moving& tuning = {}
);

}  // namespace routepack::placement
