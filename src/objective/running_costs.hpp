// What blocks and shards cost, kept up to date as samples move; their largest are at hand, as every
// proposed move asks for the maximum without the two that it changes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "objective/search_problem.hpp"
#include "routepack/ids.hpp"

namespace routepack::objective {

// Attention of the cells, and of each block Σ over stages of the maximum over its cells.
class BlockAttention {
 public:
  // Empty cells. The problem must outlive it.
  explicit BlockAttention(const SearchProblem& problem);

  // Σ over stages of the maximum over the block's cells. Holds after settle().
  [[nodiscard]] std::int64_t of(BlockId block) const { return total_[block]; }

  // What two cells gain of a stage's attention.
  struct Gains {
    std::int64_t a = 0;
    std::int64_t b = 0;
  };
  // The totals of the blocks if the cells' attention grew by `gains(stage)`.
  struct Totals {
    std::int64_t a = 0;
    std::int64_t b = 0;  // 0 where the cells share a block
  };
  template <class GainsOfStage>
  [[nodiscard]] Totals after_exchange(CellId cell_a, CellId cell_b, const GainsOfStage& gains)
      const {
    const BlockId a = problem_->block_of(cell_a);
    const BlockId b = problem_->block_of(cell_b);
    Totals totals;
    for (int stage = 0; stage < problem_->num_stages; ++stage) {
      const Gains change = gains(stage);
      const std::int64_t* cells = of_stage(stage);
      const std::int64_t in_a = cells[cell_a.offset()] + change.a;
      const std::int64_t in_b = cells[cell_b.offset()] + change.b;
      if (a == b) {
        totals.a += std::max({in_a, in_b, largest_except(stage, a, cell_a, cell_b)});
      } else {
        totals.a += std::max(in_a, largest_except(stage, a, cell_a));
        totals.b += std::max(in_b, largest_except(stage, b, cell_b));
      }
    }
    return totals;
  }

  // Adds a sample's attention to a cell (sign 1) or takes it away (-1).
  void add(CellId cell, SampleId sample, std::int64_t sign);
  // Adds `tokens` of fill to a cell (negative: takes them away).
  void add_fill(CellId cell, std::int64_t tokens);
  // Finds the block's maxima anew. O(stages * cells of a block).
  void settle(BlockId block);

 private:
  // The cell with the largest attention of a stage, and the largest of the others, so that the
  // maximum without any one cell is at hand.
  struct Leaders {
    std::int64_t first = 0;
    CellId cell;  // that has it; the lowest such
    std::int64_t second = 0;
  };
  [[nodiscard]] const std::int64_t* of_stage(int stage) const {
    return attention_.data() + static_cast<std::size_t>(stage) * num_cells_;
  }
  [[nodiscard]] const Leaders& leaders(int stage, BlockId block) const {
    return leaders_[static_cast<std::size_t>(stage) * total_.size() + block.offset()];
  }
  [[nodiscard]] std::int64_t largest_except(int stage, BlockId block, CellId cell) const {
    const Leaders& known = leaders(stage, block);
    return cell == known.cell ? known.second : known.first;
  }
  [[nodiscard]] std::int64_t largest_except(int stage, BlockId block, CellId one, CellId other)
      const;

  const SearchProblem* problem_;
  std::size_t num_cells_;
  std::vector<std::int64_t> attention_;  // [stages][cells] units
  std::vector<Leaders> leaders_;         // [stages][blocks]
  IndexVector<BlockId, std::int64_t> total_;
};

// What every EDP shard costs, and all together.
class ShardCosts {
 public:
  explicit ShardCosts(int num_shards);

  [[nodiscard]] std::int64_t of(EdpShard shard) const { return cost_[shard]; }
  [[nodiscard]] std::int64_t sum() const { return sum_; }
  [[nodiscard]] std::int64_t largest() const { return cost_[leaders_.front()]; }
  // 0 where there is no other.
  [[nodiscard]] std::int64_t largest_except(EdpShard a, EdpShard b) const {
    for (int place = 0; place < num_leaders_; ++place) {
      const EdpShard shard = leaders_[static_cast<std::size_t>(place)];
      if (shard != a && shard != b) {
        return cost_[shard];
      }
    }
    return 0;
  }

  // O(shards).
  void add(EdpShard shard, std::int64_t change);

 private:
  IndexVector<EdpShard, std::int64_t> cost_;
  std::int64_t sum_ = 0;
  int num_leaders_;
  std::array<EdpShard, 3> leaders_;  // the costliest first
};

}  // namespace routepack::objective
