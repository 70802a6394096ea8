#include "planner/row_placement.hpp"

#include <cstdint>
#include <vector>

#include "comm/collectives.hpp"
#include "placement/row_annealing.hpp"
#include "planner/block_demand.hpp"
#include "random/stream.hpp"

namespace routepack {
namespace {

LayerPlacement anneal_blocks(
    const LayerBlocks& blocks,
    int num_blocks,
    int ep,
    const LayerPlacement& start,
    const LayerPlacement* current,
    const RowPlacementEffort& effort
) {
  const Stream random{
      effort.seed, Purpose::kRowPlacement, static_cast<std::uint32_t>(blocks.layer.value())};
  RowAwareOptions options;
  options.simd = effort.simd;
  options.current = current;
  return anneal_layer(
             blocks.demand, num_blocks, ep, start, options,
             {effort.moves_per_layer, random, effort.round, effort.acceptance}
  )
      .slots;
}

}  // namespace

Placement refine_placement(
    const WindowSlice& slice,
    const CellLayout& layout,
    const Placement& placement,
    const Placement* current,
    const Topology& topology,
    const RowPlacementEffort& effort,
    const Communicator& comm
) {
  const std::vector<LayerBlocks> mine = reduce_block_demand(slice, layout, topology, comm);
  const auto experts = static_cast<std::size_t>(placement.num_experts);
  std::vector<std::uint16_t> slots(mine.size() * experts);
  const auto count = static_cast<std::int32_t>(mine.size());
#pragma omp parallel for schedule(dynamic) num_threads(effort.num_threads)
  for (std::int32_t n = 0; n < count; ++n) {
    const auto at = static_cast<std::size_t>(n);
    const MoeLayer layer = mine[at].layer;
    const LayerPlacement refined = anneal_blocks(
        mine[at], layout.num_rows * topology.edp(), topology.ep, placement.layers[layer],
        current != nullptr ? &current->layers[layer] : nullptr, effort
    );
    for (const ExpertId expert : ids<ExpertId>(experts)) {
      slots[at * experts + expert.offset()] = static_cast<std::uint16_t>(refined[expert].value());
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
