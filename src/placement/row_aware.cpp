#include "placement/row_aware.hpp"

#include <utility>

#include "base/check.hpp"
#include "placement/relabel.hpp"
#include "placement/row_refiner.hpp"

namespace routepack {

RowAwareResult refine_layer(
    std::span<const std::uint32_t> demand_by_expert_block,
    int num_blocks,
    int ep,
    LayerPlacement start,
    const RowAwareOptions& options
) {
  const BlockDemand demand{demand_by_expert_block, num_blocks};
  RP_ASSERT(
      light, num_blocks > 0 && demand_by_expert_block.size() == start.size() * demand.stride(),
      "{} entries for {} experts of {} blocks", demand_by_expert_block.size(), start.size(),
      num_blocks
  );
  const LayerPlacement& reference = options.current != nullptr ? *options.current : start;
  const RankOfExpert home = ranks_of(reference, ep);
  RowRefiner refiner{
      demand,
      ranks_of(start, ep),
      ep,
      {home, options.price_per_moved, options.max_moved},
      options.simd};
  RowAwareResult result;
  result.sum_before = refiner.sum_peaks();
  result.local_optimum = refiner.descend(options.max_passes);
  result.sum_peaks = refiner.sum_peaks();
  result.num_swaps = std::ssize(refiner.swaps());
  const RankOfExpert relabelled = relabel_ranks(refiner.state().rank_of_experts(), home, ep);
  result.moved_experts = count_moved(home, relabelled);
  result.slots = assign_slots(relabelled, reference, ep);
  return result;
}

}  // namespace routepack
