#include "placement/moving/block_descent.hpp"

#include <algorithm>
#include <utility>

#include "placement/aggregate/rank_state.hpp"

namespace routepack::placement {
BlockDescent::BlockDescent(
    const BlockDemand& demand, RankOfExpert start, int ep, MovePrice price, SimdLevel level
)
    : price_(std::move(price)),
      state_(demand, std::move(start), ep),
      scan_(state_, price_, block_kernels(level, PairObjective::kPeaks)),
      kernels_(block_kernels(level, PairObjective::kPeaks)),
      sum_(state_.sum_peaks()),
      moved_(count_moved(price_.home, state_.rank_of_experts())),
      last_swap_(static_cast<std::size_t>(ep), 0),
      last_scan_(static_cast<std::size_t>(ep) * static_cast<std::size_t>(ep), -1),
      above_((static_cast<std::size_t>(ep) + 1) * demand.stride(), 0),
      below_(demand.stride(), 0),
      others_(demand.stride(), 0),
      tried_(demand.num_experts(), 0) {}

bool BlockDescent::descend(int max_passes) {
  // Pairs whose two ranks are as they were at the last scan are skipped, though the other ranks may
  // have changed; only a pass over every pair proves that nothing is left.
  bool every_pair = true;
  for (int passes = 0; passes < max_passes; ++passes) {
    if (pass(every_pair)) {
      every_pair = false;
    } else if (every_pair) {
      return true;
    } else {
      every_pair = true;
    }
  }
  return false;
}

bool BlockDescent::pass(bool every_pair) {
  const std::size_t stride = state_.demand().stride();
  const std::size_t steps = state_.demand().steps();
  const auto ep = static_cast<std::size_t>(state_.ep());
  bool improved = false;
  for (std::size_t a = 0; a + 1 < ep; ++a) {
    // While b ascends, ranks after b keep the loads seen here, and `below_` follows those before.
    std::fill_n(above_.begin() + static_cast<std::ptrdiff_t>(ep * stride), stride, 0U);
    for (std::size_t rank = ep - 1; rank > a; --rank) {
      kernels_.take_larger(
          &above_[rank * stride], &above_[(rank + 1) * stride], state_.loads(EpRank{rank}), steps
      );
    }
    std::fill(below_.begin(), below_.end(), 0U);
    for (std::size_t rank = 0; rank < a; ++rank) {
      kernels_.take_larger(below_.data(), below_.data(), state_.loads(EpRank{rank}), steps);
    }
    for (std::size_t b = a + 1; b < ep; ++b) {
      std::int64_t& last_scan = last_scan_[a * ep + b];
      const std::int64_t changed = std::max(last_swap_[EpRank{a}], last_swap_[EpRank{b}]);
      if (every_pair || changed >= last_scan) {
        last_scan = ++clock_;
        kernels_.take_larger(others_.data(), below_.data(), &above_[(b + 1) * stride], steps);
        improved |= improve_pair(EpRank{a}, EpRank{b}, others_.data());
      }
      kernels_.take_larger(below_.data(), below_.data(), state_.loads(EpRank{b}), steps);
    }
  }
  return improved;
}

bool BlockDescent::improve_pair(EpRank a, EpRank b, const std::uint32_t* others) {
  bool improved = false;
  for (const EpRank rank : {a, b}) {
    for (const ExpertId expert : state_.experts(rank)) {
      tried_[expert] = 0;
    }
  }
  scan_.open(a, b, others);
  for (std::size_t leaver = 0; leaver < scan_.leavers().size() && scan_.can_gain(leaver, 0);) {
    const ExpertId expert = scan_.leavers()[leaver++];
    if (std::exchange(tried_[expert], 1) != 0) {
      continue;
    }
    if (const std::optional<PricedSwap> swap = scan_.find_swap(leaver - 1, 0)) {
      apply(*swap);
      tried_[swap->in] = 1;
      scan_.open(a, b, others);
      leaver = 0;
      improved = true;
    }
  }
  return improved;
}

void BlockDescent::apply(const PricedSwap& swap) {
  last_swap_[state_.rank_of_experts()[swap.out]] = clock_;
  last_swap_[state_.rank_of_experts()[swap.in]] = clock_;
  state_.swap(swap.out, swap.in);
  sum_ += swap.sum_change;
  moved_ += swap.moves;
  swaps_.push_back(swap);
}

BlockPlacement refine_layer(
    std::span<const std::uint32_t> demand_by_expert_block,
    int num_blocks,
    int ep,
    const LayerPlacement& start,
    const BlockDescentOptions& options
) {
  const BlockDemand demand = view_blocks(demand_by_expert_block, num_blocks, start.size());
  const LayerPlacement& reference = options.current != nullptr ? *options.current : start;
  BlockDescent descent{demand, ranks_of(start, ep), ep, {ranks_of(reference, ep)}, options.simd};
  BlockPlacement result;
  result.sum_before = descent.sum_peaks();
  descent.descend(options.max_passes);
  result.sum_peaks = descent.sum_peaks();
  RelabelledLayer relabelled = relabel_layer(descent.state().rank_of_experts(), reference, ep);
  result.moved_experts = relabelled.moved_experts;
  result.slots = std::move(relabelled.slots);
  return result;
}

}  // namespace routepack::placement
