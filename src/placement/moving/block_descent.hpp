// Pair-swap descent on Σ over blocks of the peaks, rank pair by rank pair.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "domain/tuning.hpp"
#include "placement/blocks/block_kernels.hpp"
#include "placement/blocks/block_state.hpp"
#include "placement/moving/pair_scan.hpp"
#include "routepack/placement.hpp"

namespace routepack::placement {

class BlockDescent {
 public:
  // The demand must outlive the refiner.
  BlockDescent(
      const BlockDemand& demand, RankOfExpert start, int ep, MovePrice price, SimdLevel level
  );
  BlockDescent(const BlockDescent&) = delete;
  BlockDescent& operator=(const BlockDescent&) = delete;

  // Every pair of ranks in turn, every expert of one with its best partner in the other, as long
  // as that pays, at most `max_passes` times. True if it ended where no swap of two experts pays.
  bool descend(int max_passes);

  void set_price(std::int64_t price) { price_.price = price; }
  [[nodiscard]] const BlockState& state() const { return state_; }
  [[nodiscard]] std::int64_t sum_peaks() const { return sum_; }
  [[nodiscard]] std::int64_t moved() const { return moved_; }
  // All swaps so far, in order.
  [[nodiscard]] const std::vector<PricedSwap>& swaps() const { return swaps_; }

 private:
  bool pass(bool every_pair);
  bool improve_pair(EpRank a, EpRank b, const std::uint32_t* others);
  void apply(const PricedSwap& swap);

  MovePrice price_;
  BlockState state_;
  PairScan scan_;
  const BlockKernels& kernels_;
  std::int64_t sum_ = 0;
  std::int64_t moved_ = 0;
  std::vector<PricedSwap> swaps_;
  std::int64_t clock_ = 0;                       // counts scanned pairs
  IndexVector<EpRank, std::int64_t> last_swap_;  // clock of the rank's last swap
  std::vector<std::int64_t> last_scan_;          // [ep][ep] clock of the pair's last scan
  std::vector<std::uint32_t> above_;             // [ep + 1][stride] maximum over ranks from p on
  std::vector<std::uint32_t> below_;             // [stride] maximum over ranks before b, without a
  std::vector<std::uint32_t> others_;            // [stride]
  IndexVector<ExpertId, char> tried_;            // of the open pair
};

struct BlockDescentOptions {
  int max_passes = domain::Tuning::Moving{}.free_passes;  // over the pairs of EP ranks
  // Experts count as moved against this placement; null: against the start.
  const LayerPlacement* current = nullptr;
  SimdLevel simd = base::best_simd_level();  // no effect on the result
};

// Descends by swaps of two experts from `start`, then renumbers the EP ranks so that least experts
// move. `demand_by_expert_block` [E][num_blocks padded with zeros to a multiple of 16] pairs; E a
// multiple of ep. Throws NUMBER_OUT_OF_RANGE where a block's total does not fit 32 bits. A pass
// costs O(E² / ep * blocks) at most; exact bounds prune most of it.
[[nodiscard]] BlockPlacement refine_layer(
    std::span<const std::uint32_t> demand_by_expert_block,
    int num_blocks,
    int ep,
    const LayerPlacement& start,
    const BlockDescentOptions& options
);

}  // namespace routepack::placement
