// One layer under annealing; row_annealing.hpp is what others call.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/move_price.hpp"
#include "placement/peak_tree.hpp"
#include "placement/row_annealing.hpp"

namespace routepack {

class RowAnnealer {
 public:
  // The state's demand must outlive the annealer.
  RowAnnealer(const BlockState& start, MovePrice price, SimdLevel simd);

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
  [[nodiscard]] ExpertId choose_leaver(const Block& draw, int num_blocks) const;
  [[nodiscard]] Swap propose(const Block& draw, int num_blocks) const;
  // Between two ranks, and within the limit on moved experts.
  [[nodiscard]] bool is_allowed(const Swap& swap) const;
  [[nodiscard]] ExpertId neighbour(ExpertId expert, std::uint32_t random) const;
  [[nodiscard]] std::int32_t moves(const Swap& swap) const;
  [[nodiscard]] std::int64_t cost_after(const Swap& swap);
  // Mean |cost change| of swaps of neighbours, the scale of the temperature.
  [[nodiscard]] std::int64_t mean_change(const AnnealingEffort& effort, int num_blocks);
  void apply(const Swap& swap, std::int64_t cost);
  void keep_best();

  MovePrice price_;
  PeakTree tree_;
  std::size_t slots_;
  RankOfExpert rank_of_;
  std::vector<ExpertId> member_;                 // [ep][slots]
  IndexVector<ExpertId, std::size_t> place_;     // in member_
  std::vector<ExpertId> by_demand_;              // ascending
  IndexVector<ExpertId, std::size_t> position_;  // in by_demand_
  std::int64_t moved_ = 0;
  std::int64_t cost_ = 0;  // (sum + price * moved) * kCostUnits
  RankOfExpert best_ranks_;
  std::int64_t best_cost_ = 0;
  bool best_is_current_ = true;  // best_ranks_ is copied only when the best is left
};

}  // namespace routepack
