#include "planner/row_placement.hpp"

#include <cstdint>
#include <vector>

#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "planner/block_demand.hpp"

namespace routepack {

Placement refine_placement(
    const WindowSlice& slice,
    const CellLayout& layout,
    const Placement& placement,
    const Placement* current,
    const Topology& topology,
    int num_threads,
    const Communicator& comm
) {
  const std::vector<LayerBlocks> mine = reduce_block_demand(slice, layout, topology, comm);
  const auto experts = static_cast<std::size_t>(placement.num_experts);
  std::vector<std::uint16_t> slots(mine.size() * experts);
  const auto count = static_cast<std::int32_t>(mine.size());
#pragma omp parallel for schedule(static) num_threads(num_threads)
  for (std::int32_t n = 0; n < count; ++n) {
    const auto at = static_cast<std::size_t>(n);
    RowAwareOptions options;
    options.current = current != nullptr ? &current->layers[mine[at].layer] : nullptr;
    const RowAwareResult refined = refine_layer(
        mine[at].demand, layout.num_rows * topology.edp(), topology.ep,
        placement.layers[mine[at].layer], options
    );
    for (const ExpertId expert : ids<ExpertId>(experts)) {
      slots[at * experts + expert.offset()] =
          static_cast<std::uint16_t>(refined.slots[expert].value());
    }
  }
  const std::vector<std::uint16_t> all = all_gather(slots, comm);
  Placement refined = placement;
  std::size_t next = 0;
  const int num_layers = static_cast<int>(placement.layers.size());
  for (int rank = 0; rank < comm.num_mpi_ranks(); ++rank) {
    for (int layer = rank; layer < num_layers; layer += comm.num_mpi_ranks()) {
      for (const ExpertId expert : ids<ExpertId>(experts)) {
        refined.layers[MoeLayer{layer}][expert] = SlotId{static_cast<std::int32_t>(all[next++])};
      }
    }
  }
  return refined;
}

}  // namespace routepack
