#include "placement/trajectory.hpp"

#include <algorithm>
#include <utility>

#include "placement/bounds.hpp"
#include "placement/descent.hpp"
#include "placement/row_aware.hpp"
#include "placement/row_refiner.hpp"

namespace routepack {
namespace {

std::vector<std::int64_t> sum_blocks(const BlockDemand& demand) {
  std::vector<std::int64_t> totals;
  for (const ExpertId expert : ids<ExpertId>(demand.num_experts())) {
    std::int64_t total = 0;
    for (std::size_t block = 0; block < demand.stride(); ++block) {
      total += demand.of(expert)[block];
    }
    totals.push_back(total);
  }
  return totals;
}

void append_steps(SwapTrajectory& trajectory, const std::vector<PricedSwap>& swaps) {
  std::int64_t objective = trajectory.objective;
  std::int64_t moved = 0;
  for (const PricedSwap& swap : swaps) {
    objective += swap.sum_change;
    moved += swap.moves;
    trajectory.steps.push_back({swap.out, swap.in, objective, moved});
  }
}

}  // namespace

SwapTrajectory peak_trajectory(
    std::span<const std::int64_t> demand,
    int ep,
    const LayerPlacement& current,
    const PlaceEffort& effort,
    const Stream& stream
) {
  SwapTrajectory trajectory;
  const RankOfExpert home = ranks_of(current, ep);
  RankState state{demand, home, ep};
  trajectory.objective = state.peak();
  const std::int64_t bound = peak_lower_bound(demand, ep);
  while (const std::optional<ExpertSwap> swap = find_best_swap(state)) {
    if (state.peak() <= bound) {
      break;
    }
    state.swap(swap->out, swap->in);
    trajectory.steps.push_back(
        {swap->out, swap->in, state.peak(), count_moved(home, state.rank_of_experts())}
    );
  }
  LayerResult free = place_layer(demand, ep, &current, effort, stream);
  trajectory.free_objective = free.peak;
  trajectory.free_moved_experts = count_moved(home, ranks_of(free.slots, ep));
  trajectory.free_slots = std::move(free.slots);
  return trajectory;
}

SwapTrajectory row_trajectory(
    std::span<const std::uint32_t> demand_by_expert_block,
    int num_blocks,
    int ep,
    const LayerPlacement& current,
    const PlaceEffort& effort,
    const Stream& stream,
    SimdLevel simd
) {
  const BlockDemand demand{demand_by_expert_block, num_blocks};
  const RankOfExpert home = ranks_of(current, ep);
  RowRefiner refiner{demand, home, ep, {home}, simd};
  SwapTrajectory trajectory;
  trajectory.objective = refiner.sum_peaks();
  // No swap can save more than everything; each round asks for a little less than the one before.
  constexpr int kPasses = 2;
  for (std::int64_t price = trajectory.objective; price > 0; price = price * 3 / 4) {
    refiner.set_price(price);
    refiner.descend(kPasses);
  }
  append_steps(trajectory, refiner.swaps());
  // Without a price: from here, or from the placement on the aggregate, whichever ends lower.
  const LayerPlacement aggregate =
      place_layer(sum_blocks(demand), ep, &current, effort, stream).slots;
  RowAwareOptions options{.current = &current, .simd = simd};
  RowAwareResult free = refine_layer(demand_by_expert_block, num_blocks, ep, current, options);
  RowAwareResult other = refine_layer(demand_by_expert_block, num_blocks, ep, aggregate, options);
  if (other.sum_peaks < free.sum_peaks) {
    free = std::move(other);
  }
  trajectory.free_objective = free.sum_peaks;
  trajectory.free_moved_experts = free.moved_experts;
  trajectory.free_slots = std::move(free.slots);
  return trajectory;
}

}  // namespace routepack
