// One layer, block by block: the load of every EP rank in every block, a block being the
// samples of one (row, EDP shard).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "placement/aggregate/rank_state.hpp"
#include "placement/blocks/block_kernels.hpp"

namespace routepack::placement {

// Routed pairs of one layer, [E][stride]: blocks side by side, padded with zeros.
struct BlockDemand {
  std::span<const std::uint32_t> pairs;
  int num_blocks = 0;

  [[nodiscard]] std::size_t steps() const {
    return (static_cast<std::size_t>(num_blocks) + kBlockLanes - 1) / kBlockLanes;
  }
  [[nodiscard]] std::size_t stride() const { return steps() * kBlockLanes; }
  [[nodiscard]] std::size_t num_experts() const { return pairs.size() / stride(); }
  [[nodiscard]] const std::uint32_t* of(ExpertId expert) const {
    return pairs.data() + expert.offset() * stride();
  }
};

// The demand of one layer as a view; `pairs` [num_experts][blocks padded to 16].
[[nodiscard]] BlockDemand view_blocks(
    std::span<const std::uint32_t> pairs, int num_blocks, std::size_t num_experts
);

// With the layout fixed, what counts of a layer's placement is not the total on its heaviest rank
// but the sum of the peaks of its blocks.
struct BlockPlacement {
  LayerPlacement slots;
  std::int64_t sum_before = 0;  // Σ over blocks of the peak, in pairs, of the start
  std::int64_t sum_peaks = 0;
  std::int64_t moved_experts =
      0;  // against the current placement, where there is one, or the start
};

// Invariant: the experts of a rank ascend.
class BlockState {
 public:
  // The demand must outlive the state. Throws NUMBER_OUT_OF_RANGE where a block's total does not
  // fit 32 bits.
  BlockState(const BlockDemand& demand, RankOfExpert rank_of, int ep);

  [[nodiscard]] const BlockDemand& demand() const { return demand_; }
  [[nodiscard]] int ep() const { return ep_; }
  [[nodiscard]] const RankOfExpert& rank_of_experts() const { return rank_of_; }
  [[nodiscard]] std::span<const ExpertId> experts(EpRank rank) const {
    return {expert_.data() + rank.offset() * slots_, slots_};
  }
  // Pairs of a rank in each block, [stride].
  [[nodiscard]] const std::uint32_t* loads(EpRank rank) const {
    return load_.data() + rank.offset() * demand_.stride();
  }
  // Vector steps whose block totals fit 32 bits when summed lane by lane.
  [[nodiscard]] std::size_t safe_steps() const { return safe_steps_; }
  // Σ over blocks of the largest load. O(ep * blocks).
  [[nodiscard]] std::int64_t sum_peaks() const;

  // Two experts of different ranks change places. O(blocks + slots).
  void swap(ExpertId a, ExpertId b);

 private:
  void replace(EpRank rank, ExpertId out, ExpertId in);

  BlockDemand demand_;
  int ep_;
  std::size_t slots_;
  std::size_t safe_steps_ = 1;
  RankOfExpert rank_of_;
  std::vector<ExpertId> expert_;     // [ep][slots]
  std::vector<std::uint32_t> load_;  // [ep][stride]
};

}  // namespace routepack::placement
