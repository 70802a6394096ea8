#include "placement/row_annealing.hpp"

#include "base/check.hpp"
#include "placement/relabel.hpp"
#include "placement/row_annealer.hpp"

namespace routepack {

RowAwareResult anneal_layer(
    std::span<const std::uint32_t> demand_by_expert_block,
    int num_blocks,
    int ep,
    const LayerPlacement& start,
    const RowAwareOptions& options,
    const AnnealingEffort& effort
) {
  const BlockDemand demand{demand_by_expert_block, num_blocks};
  RP_ASSERT(
      light, num_blocks > 0 && demand_by_expert_block.size() == start.size() * demand.stride(),
      "{} entries for {} experts of {} blocks", demand_by_expert_block.size(), start.size(),
      num_blocks
  );
  const LayerPlacement& reference = options.current != nullptr ? *options.current : start;
  const RankOfExpert home = ranks_of(reference, ep);
  const BlockState before{demand, ranks_of(start, ep), ep};
  RowAnnealer annealer{before, {home, options.price_per_moved, options.max_moved}, options.simd};
  annealer.run(effort, num_blocks);
  RowAwareResult result;
  result.sum_before = before.sum_peaks();
  result.sum_peaks = BlockState{demand, annealer.best(), ep}.sum_peaks();
  const RankOfExpert relabelled = relabel_ranks(annealer.best(), home, ep);
  result.moved_experts = count_moved(home, relabelled);
  result.slots = assign_slots(relabelled, reference, ep);
  return result;
}

}  // namespace routepack
