#include "placement/row_aware.hpp"

#include <utility>

#include "placement/relabel.hpp"
#include "placement/row_refiner.hpp"

namespace routepack {

RowAwareResult refine_layer(
    std::span<const std::uint32_t> demand_by_expert_block,
    int num_blocks,
    int ep,
    const LayerPlacement& start,
    const RowAwareOptions& options
) {
  const BlockDemand demand = view_blocks(demand_by_expert_block, num_blocks, start.size());
  const LayerPlacement& reference = options.current != nullptr ? *options.current : start;
  RowRefiner refiner{
      demand,
      ranks_of(start, ep),
      ep,
      {ranks_of(reference, ep), options.price_per_moved, options.max_moved},
      options.simd};
  RowAwareResult result;
  result.sum_before = refiner.sum_peaks();
  result.local_optimum = refiner.descend(options.max_passes);
  result.sum_peaks = refiner.sum_peaks();
  result.num_swaps = std::ssize(refiner.swaps());
  RelabelledLayer relabelled = relabel_layer(refiner.state().rank_of_experts(), reference, ep);
  result.moved_experts = relabelled.moved_experts;
  result.slots = std::move(relabelled.slots);
  return result;
}

}  // namespace routepack
