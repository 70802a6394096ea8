// Placement of one layer for its blocks, by annealing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "domain/tuning.hpp"
#include "placement/blocks/block_kernels.hpp"
#include "placement/blocks/block_state.hpp"
#include "random/stream.hpp"

namespace routepack::placement {

// The loads of all EP ranks in every block under a tree of maxima, so that the peak without any two
// ranks is the maximum over a few nodes, and a swap changes few.
class PeakTree {
 public:
  // Takes the loads of `state`, whose demand must outlive the tree.
  PeakTree(const BlockState& state, const BlockKernels& kernels);

  // The rank with the largest load of a block; ties: the lowest. O(log ep).
  [[nodiscard]] EpRank peak_rank(std::size_t block) const;
  // Σ over blocks of the peaks.
  [[nodiscard]] std::int64_t sum_peaks() const;
  // The same after expert `out` of rank a and expert `in` of rank b, another, exchanged their
  // places. O(blocks * log ep).
  [[nodiscard]] std::int64_t sum_after(EpRank a, EpRank b, ExpertId out, ExpertId in);
  // Exchanges them. O(blocks * log ep).
  void exchange(EpRank a, EpRank b, ExpertId out, ExpertId in);

 private:
  [[nodiscard]] std::size_t leaf(EpRank rank) const { return num_leaves_ + rank.offset(); }
  [[nodiscard]] std::uint32_t* node(std::size_t number) { return nodes_.data() + number * stride_; }
  void replace(EpRank rank, ExpertId out, ExpertId in);
  void climb(EpRank rank);

  const BlockKernels& kernels_;
  const BlockDemand demand_;
  std::size_t stride_;
  std::size_t safe_steps_;
  std::size_t num_leaves_;            // ep rounded up to a power of two; no load beyond ep
  std::vector<std::uint32_t> nodes_;  // [2 * leaves][stride]; node n has 2n and 2n + 1 below
  std::vector<const std::uint32_t*> others_;  // scratch of sum_after
};

// How long, and with which draws.
struct AnnealingEffort {
  std::int64_t num_moves = 0;  // proposed swaps
  const random::Stream& random;
  std::uint32_t round = 0;  // step of the stream; one for each call that shall draw anew
  const random::Acceptance& acceptance;
  // Experts count as moved against this placement; null: against the start.
  const LayerPlacement* current = nullptr;
  SimdLevel simd = base::best_simd_level();  // no effect on the result
  domain::Tuning::BlockAnnealing tuning = {};
};

// One layer under annealing; anneal_layer is what others call.
class BlockAnnealer {
 public:
  // The state's demand must outlive the annealer.
  BlockAnnealer(const BlockState& start, std::uint32_t reach, SimdLevel simd);

  // From hot to cold, the last moves downhill only.
  void run(const AnnealingEffort& effort, int num_blocks);

  [[nodiscard]] const RankOfExpert& best() const { return best_ranks_; }

 private:
  struct Swap {
    ExpertId out;
    ExpertId in;
  };
  struct MoveRange {
    std::int64_t first;
    std::int64_t last;  // exclusive
  };
  // Costs are in fractions of a pair, so that low temperatures are not all zero.
  static constexpr std::int64_t kCostUnits = 256;

  // The number of accepted moves.
  [[nodiscard]] std::int64_t run_stage(
      const AnnealingEffort& effort, int num_blocks, MoveRange range, std::int64_t temperature
  );
  [[nodiscard]] ExpertId choose_leaver(const random::RandomBits& draw, int num_blocks) const;
  [[nodiscard]] Swap propose(const random::RandomBits& draw, int num_blocks) const;
  [[nodiscard]] bool is_between_ranks(const Swap& swap) const;
  [[nodiscard]] ExpertId neighbour(ExpertId expert, std::uint32_t random) const;
  [[nodiscard]] std::int64_t cost_after(const Swap& swap);
  // Mean |cost change| of swaps of neighbours, the scale of the temperature.
  [[nodiscard]] std::int64_t mean_change(const AnnealingEffort& effort, int num_blocks);
  void apply(const Swap& swap, std::int64_t cost);
  void keep_best();

  PeakTree tree_;
  std::size_t slots_;
  std::uint32_t reach_;  // of a neighbour, in the order of demand
  RankOfExpert rank_of_;
  std::vector<ExpertId> member_;                 // [ep][slots]
  IndexVector<ExpertId, std::size_t> place_;     // in member_
  std::vector<ExpertId> by_demand_;              // ascending
  IndexVector<ExpertId, std::size_t> position_;  // in by_demand_
  std::int64_t cost_ = 0;                        // Σ of the peaks * kCostUnits
  RankOfExpert best_ranks_;
  std::int64_t best_cost_ = 0;
  bool best_is_current_ = true;  // best_ranks_ is copied only when the best is left
};

// The best placement met on the way, never worse than `start`: swaps of two experts on Σ over
// blocks of the peaks, downhill and, while it is hot, uphill too, which leaves the local optima
// that a descent ends in. Then the EP ranks are renumbered so that least experts move.
// `demand_by_expert_block` [E][num_blocks padded with zeros to a multiple of 16] pairs; E a
// multiple of ep. Throws NUMBER_OUT_OF_RANGE where a block's total does not fit 32 bits. A move
// costs O(blocks * log ep), an accepted one about twice that.
[[nodiscard]] BlockPlacement anneal_layer(
    std::span<const std::uint32_t> demand_by_expert_block,
    int num_blocks,
    int ep,
    const LayerPlacement& start,
    const AnnealingEffort& effort
);

}  // namespace routepack::placement
