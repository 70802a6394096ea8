#include "planner/row_placement.hpp"

#include <cstdint>
#include <vector>

#include "base/parallel.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "placement/blocks/block_annealer.hpp"
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
    const BlockPlacementEffort& effort
) {
  const Stream random{
      effort.seed, Purpose::kBlockPlacement, static_cast<std::uint32_t>(blocks.layer.value())};
  return anneal_layer(
             blocks.demand, num_blocks, ep, start,
             {effort.moves_per_layer, random, effort.round, effort.acceptance, current, effort.simd}
  )
      .slots;
}

// Slots of the layers, one after another.
std::vector<std::uint16_t> anneal_layers(
    const std::vector<LayerBlocks>& layers,
    int num_blocks,
    const Placement& placement,
    const Placement* current,
    const BlockPlacementEffort& effort
) {
  const auto experts = static_cast<std::size_t>(placement.num_experts);
  std::vector<std::uint16_t> slots(layers.size() * experts);
  parallel_for(layers.size(), effort.num_threads, [&](std::size_t at) {
    const MoeLayer layer = layers[at].layer;
    const LayerPlacement annealed = anneal_blocks(
        layers[at], num_blocks, placement.ep, placement.layers[layer],
        current != nullptr ? &current->layers[layer] : nullptr, effort
    );
    for (const ExpertId expert : ids<ExpertId>(experts)) {
      slots[at * experts + expert.offset()] = static_cast<std::uint16_t>(annealed[expert].value());
    }
  });
  return slots;
}

}  // namespace

Placement refine_placement(
    const WindowSlice& slice,
    const CellLayout& layout,
    const Placement& placement,
    const Placement* current,
    const Topology& topology,
    const BlockPlacementEffort& effort,
    const Communicator& comm
) {
  const std::vector<LayerBlocks> mine = reduce_block_demand(slice, layout, topology, comm);
  const int num_blocks = layout.num_rows * topology.edp();
  const std::vector<std::uint16_t> slots =
      agree_on([&] { return anneal_layers(mine, num_blocks, placement, current, effort); }, comm);
  const std::vector<std::uint16_t> all = all_gather(slots, comm);
  Placement refined = placement;
  std::size_t next = 0;
  const int num_layers = static_cast<int>(placement.layers.size());
  for (int rank = 0; rank < comm.num_mpi_ranks(); ++rank) {
    for (int layer = rank; layer < num_layers; layer += comm.num_mpi_ranks()) {
      for (const ExpertId expert : ids<ExpertId>(placement.num_experts)) {
        refined.layers[MoeLayer{layer}][expert] = SlotId{static_cast<std::int32_t>(all[next++])};
      }
    }
  }
  return refined;
}

}  // namespace routepack
