// A layout with its costs, kept up to date move by move (the incremental evaluation). Integers
// only: applying moves in any order gives the bits that a rebuild from the layout gives.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "objective/peak_kernels.hpp"
#include "objective/running_costs.hpp"
#include "objective/search_problem.hpp"
#include "routepack/layout.hpp"

namespace routepack::objective {

// Samples that change places between two different cells: `from_a` go to cell b, `from_b` to a.
struct Move {
  static constexpr int kMaxSamples = 4;
  CellId cell_a;
  CellId cell_b;
  int num_from_a = 0;
  int num_from_b = 0;
  SampleId from_a[kMaxSamples];
  SampleId from_b[kMaxSamples];
};

// What a move would lead to. Valid until the state changes.
struct Outcome {
  bool rejected = false;         // against the rules of cells, or surely above the limit
  SearchScore score;             // after the move
  std::int64_t energy = 0;       // of that score
  std::int64_t attention_a = 0;  // of the blocks of cells a and b: Σ_stages max over cells
  std::int64_t attention_b = 0;
  std::int64_t peaks_a = 0;  // Σ_layers max over EP ranks
  std::int64_t peaks_b = 0;
  bool same_block = false;
};

class SearchState {
 public:
  SearchState(const SearchProblem& problem, const CellLayout& layout, SimdLevel simd);

  // The energy, 2·edp·max_g U + Σ_g U in units: the search's one number. The sum keeps the search
  // off the plateaus of the maximum.
  [[nodiscard]] std::int64_t energy() const { return energy_of(score_); }
  [[nodiscard]] const SearchScore& score() const { return score_; }
  [[nodiscard]] const CellLayout& layout() const { return layout_; }
  [[nodiscard]] const SearchProblem& problem() const { return *problem_; }
  // Ascending.
  [[nodiscard]] std::span<const SampleId> samples_of(CellId cell) const { return cells_[cell]; }
  [[nodiscard]] std::int64_t tokens_of(CellId cell) const { return tokens_[cell]; }
  [[nodiscard]] std::int64_t block_cost(BlockId block) const {
    return attention_.of(block) + problem_->pair_cost * peaks_[block];
  }

  // The outcome of a move; early rejection as soon as the energy must exceed `energy_limit`.
  [[nodiscard]] Outcome evaluate(const Move& move, std::int64_t energy_limit);
  void apply(const Move& move, const Outcome& outcome);

  // Replaces the layout: a rebuild from nothing.
  void reset(const CellLayout& layout);

 private:
  [[nodiscard]] std::int64_t energy_of(const SearchScore& score) const {
    return 2 * problem_->num_shards * score.max_shard + score.sum_shards;
  }
  [[nodiscard]] SearchScore score_with(
      EdpShard shard_a, std::int64_t cost_a, EdpShard shard_b, std::int64_t cost_b
  ) const;
  // What a move changes, before anything is charged.
  struct Change {
    std::int64_t tokens_into_a = 0;
    std::int64_t routed_into_a = 0;  // pairs of one layer, fill left out
    int samples_into_a = 0;
    std::int64_t fill_a = 0;  // tokens of fill that the cells gain
    std::int64_t fill_b = 0;
  };
  [[nodiscard]] Change change_of(const Move& move) const;
  [[nodiscard]] bool keeps_rules(const Move& move, const Change& change) const;
  [[nodiscard]] BlockAttention::Totals attention_after(const Move& move, const Change& change)
      const;
  [[nodiscard]] std::int64_t peaks_limit(
      BlockId a, BlockId b, std::int64_t attention, std::int64_t energy_limit
  ) const;
  PeakSums peaks_after(
      const Move& move, BlockId a, BlockId b, std::int64_t least_peaks, std::int64_t limit
  );
  // The same where fill is routed: it differs between the blocks, and within one.
  PeakSums peaks_with_fill_after(const Move& move, BlockId a, BlockId b, const Change& change);
  template <class T>
  void add_to_difference(std::span<const T> demand, SampleId sample, std::int32_t sign);
  void make_difference(const Move& move);
  template <class T>
  PeakSums exchange(
      std::span<const T> demand,
      const Move& move,
      Exchange<T> exchange,
      const T* nothing,
      PeakSums (*kernel)(const Exchange<T>&)
  );
  [[nodiscard]] std::int64_t sum_of_peaks(BlockId block) const;
  void move_loads(SampleId sample, BlockId from, BlockId to);
  void move_sample(SampleId sample, CellId from, CellId to);
  // Fills the cell up anew after its tokens changed.
  void refill(CellId cell);
  [[nodiscard]] std::uint32_t* loads(BlockId block) {
    return loads_.data() + block.offset() * stride_;
  }

  const SearchProblem* problem_;
  const PeakKernels* kernels_;
  std::size_t stride_;  // loads of a block: ep * padded layers
  CellLayout layout_;
  IndexVector<CellId, std::vector<SampleId>> cells_;
  IndexVector<CellId, std::int64_t> tokens_;  // of samples
  IndexVector<CellId, std::int64_t> fill_;    // tokens that fill it up
  BlockAttention attention_;
  IndexVector<BlockId, std::int64_t> peaks_;
  IndexVector<BlockId, std::int64_t> routed_;  // pairs of one layer, those of fill included
  ShardCosts shard_costs_;                     // U in units
  std::vector<std::uint32_t> loads_;           // [blocks][ep][padded layers]
  std::vector<std::int32_t> difference_;       // scratch: [ep][padded layers]
  std::vector<std::uint16_t> nothing_narrow_;  // an empty sample
  std::vector<std::uint32_t> nothing_wide_;
  SearchScore score_;
};

}  // namespace routepack::objective
