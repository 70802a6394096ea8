// The loads of all EP ranks in every block under a tree of maxima, so that the peak without any two
// ranks is the maximum over a few nodes, and a swap changes few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "placement/block_state.hpp"
#include "placement/row_kernels.hpp"

namespace routepack {

class PeakTree {
 public:
  // Takes the loads of `state`, whose demand must outlive the tree.
  PeakTree(const BlockState& state, const RowKernels& kernels);

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

  const RowKernels& kernels_;
  const BlockDemand demand_;
  std::size_t stride_;
  std::size_t safe_steps_;
  std::size_t num_leaves_;            // ep rounded up to a power of two; no load beyond ep
  std::vector<std::uint32_t> nodes_;  // [2 * leaves][stride]; node n has 2n and 2n + 1 below
  std::vector<const std::uint32_t*> others_;  // scratch of sum_after
};

}  // namespace routepack
