#include "placement/row_annealing.hpp"

#include <utility>

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
  const BlockDemand demand = view_blocks(demand_by_expert_block, num_blocks, start.size());
  const LayerPlacement& reference = options.current != nullptr ? *options.current : start;
  const BlockState before{demand, ranks_of(start, ep), ep};
  RowAnnealer annealer{
      before, {ranks_of(reference, ep), options.price_per_moved, options.max_moved}, options.simd};
  annealer.run(effort, num_blocks);
  RowAwareResult result;
  result.sum_before = before.sum_peaks();
  result.sum_peaks = BlockState{demand, annealer.best(), ep}.sum_peaks();
  RelabelledLayer relabelled = relabel_layer(annealer.best(), reference, ep);
  result.moved_experts = relabelled.moved_experts;
  result.slots = std::move(relabelled.slots);
  return result;
}

}  // namespace routepack
