// All swaps between two EP ranks, judged by Σ over blocks of an objective plus the price of moves.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "placement/aggregate/rank_state.hpp"
#include "placement/blocks/block_kernels.hpp"
#include "placement/blocks/block_state.hpp"

namespace routepack::placement {

// Experts count as moved while they are not on their rank of `home`.
struct MovePrice {
  RankOfExpert home;
  std::int64_t price = 0;  // of one moved expert, in pairs of Σ of peaks

  // -1, 0 or 1: change of the moved experts when `expert` goes from one rank to another.
  [[nodiscard]] std::int32_t moves(ExpertId expert, EpRank from, EpRank to) const {
    return (home[expert] != to ? 1 : 0) - (home[expert] != from ? 1 : 0);
  }
};

struct PricedSwap {
  ExpertId out;                 // of rank a
  ExpertId in;                  // of rank b
  std::int64_t sum_change = 0;  // of Σ of the objective
  std::int32_t moves = 0;       // change of the moved experts
};

// A swap of experts i and j changes rank a's loads by w_j - w_i and rank b's by the opposite. Only
// marked blocks can gain (those where a or b alone sets the peak, or is above the target), by no
// more than the demand taken there. So with s = Σ of an expert's demand over a's marked blocks less
// Σ over b's, no swap gains more than s_i - s_j: an exact bound, which orders the candidates and
// prunes most of them. Where blocks are many, a swap is also judged on the marked few before all
// are summed.
class PairScan {
 public:
  // State and price must outlive the scan; the kernels are those of the objective.
  PairScan(const BlockState& state, const MovePrice& price, const BlockKernels& kernels);

  // Looks at a pair anew: call again after a swap of the state. `level` [stride] as the objective
  // asks; must stay in place.
  void open(EpRank a, EpRank b, const std::uint32_t* level);

  // Experts of rank a, those that may gain most first.
  [[nodiscard]] const std::vector<ExpertId>& leavers() const { return side_a_.experts; }
  // Whether a leaver, given by its position, may gain more than `gain`; if not, none after it can.
  [[nodiscard]] bool can_gain(std::size_t leaver, std::int64_t gain) const {
    return side_a_.keys[leaver] - side_b_.keys.front() > gain;
  }

  // The best swap of one leaver, if any lowers the objective + price * moves by more than `gain`.
  // Ties: the candidate with the lower bound, then the lower expert.
  [[nodiscard]] std::optional<PricedSwap> find_swap(std::size_t leaver, std::int64_t gain) const;
  // The best swap of all leavers; ties: the first leaver.
  [[nodiscard]] std::optional<PricedSwap> find_best_swap() const;

 private:
  // The experts of one of the two ranks, in the order of their keys: s of the class comment, less
  // the price of leaving for rank a's, plus the price of arriving for rank b's.
  struct Side {
    std::vector<ExpertId> experts;
    std::vector<std::int64_t> keys;
    std::vector<std::int32_t> moves;             // change of the moved experts by the expert's move
    std::vector<const std::uint32_t*> hot_rows;  // demand over the hot blocks
    std::vector<const std::uint32_t*> rows;      // demand over all blocks
  };
  void find_hot_blocks();
  const std::uint32_t* compress(const std::uint32_t* values);
  void sort_side(EpRank from, EpRank to, bool leaving, Side& side);

  const BlockState& state_;
  const MovePrice& price_;
  const BlockKernels& kernels_;
  PairLoads all_;
  PairLoads hot_;
  bool hot_is_all_ = true;
  std::int64_t sum_ = 0;       // the objective as it is
  std::int64_t cold_sum_ = 0;  // of it, outside the hot blocks
  Side side_a_;
  Side side_b_;
  std::vector<std::uint32_t> mask_a_;  // [stride]
  std::vector<std::uint32_t> mask_b_;  // [stride]
  GainMasks hot_masks_;
  std::vector<std::uint32_t> hot_blocks_;
  std::vector<std::uint32_t> arena_;  // compressed arrays, one after another
  std::size_t arena_used_ = 0;
};

}  // namespace routepack::placement
