#include "planner/block_placement.hpp"

#include <utility>

#include "base/check.hpp"
#include "comm/collectives.hpp"
#include "comm/dealt.hpp"
#include "placement/blocks/block_annealer.hpp"
#include "random/stream.hpp"

namespace routepack::planner {
namespace {

// Of the local samples, at one layer: [E, blocks padded to 16] pairs.
std::vector<std::uint32_t> sum_layer(
    const WindowSlice& slice, const CellLayout& layout, const Topology& topology, MoeLayer layer
) {
  const auto experts = static_cast<std::size_t>(slice.shape.num_experts);
  const auto layers = static_cast<std::size_t>(slice.shape.num_moe_layers());
  const auto blocks = static_cast<std::size_t>(layout.num_rows * topology.edp());
  const std::size_t padded = base::round_up(blocks, placement::kBlockLanes);
  // Block-major first: a sample's experts are then added in a stream.
  std::vector<std::uint32_t> by_block(blocks * experts, 0);
  for (std::int64_t local = 0; local < slice.num_local(); ++local) {
    const SampleId sample{static_cast<std::size_t>(slice.first_sample + local)};
    const auto block =
        static_cast<std::size_t>(layout.cell_of_sample[sample].value() / topology.dp_per_shard());
    const std::uint32_t* demand =
        slice.demand.data() + (static_cast<std::size_t>(local) * layers + layer.offset()) * experts;
    std::uint32_t* sums = by_block.data() + block * experts;
    for (std::size_t expert = 0; expert < experts; ++expert) {
      sums[expert] += demand[expert];
    }
  }
  std::vector<std::uint32_t> sums(experts * padded, 0);
  for (std::size_t block = 0; block < blocks; ++block) {
    for (std::size_t expert = 0; expert < experts; ++expert) {
      sums[expert * padded + block] = by_block[block * experts + expert];
    }
  }
  return sums;
}

LayerPlacement anneal_blocks(
    const LayerBlocks& blocks,
    int num_blocks,
    int ep,
    const LayerPlacement& start,
    const LayerPlacement* current,
    const BlockPlacementEffort& effort
) {
  const random::Stream random{
      effort.seed, random::Purpose::kBlockPlacement,
      static_cast<std::uint32_t>(blocks.layer.value())};
  return placement::anneal_layer(
             blocks.demand, num_blocks, ep, start,
             {effort.moves_per_layer, random, effort.round, effort.acceptance, current, effort.simd,
              effort.tuning}
  )
      .slots;
}

}  // namespace

std::vector<LayerBlocks> reduce_block_demand(
    const WindowSlice& slice,
    const CellLayout& layout,
    const Topology& topology,
    const comm::Communicator& comm
) {
  std::vector<LayerBlocks> mine;
  for (const MoeLayer layer : ids<MoeLayer>(slice.shape.num_moe_layers())) {
    const int owner = comm::owner_of_dealt(layer.offset(), comm);
    std::vector<std::uint32_t> sums =
        comm::reduce_sum(sum_layer(slice, layout, topology, layer), owner, comm);
    if (owner == comm.mpi_rank()) {
      mine.push_back({layer, std::move(sums)});
    }
  }
  return mine;
}

Placement refine_placement(
    const WindowSlice& slice,
    const CellLayout& layout,
    const Placement& placement,
    const Placement* current,
    const Topology& topology,
    const BlockPlacementEffort& effort,
    const comm::Communicator& comm
) {
  const std::vector<LayerBlocks> mine = reduce_block_demand(slice, layout, topology, comm);
  const int num_blocks = layout.num_rows * topology.edp();
  std::vector<std::vector<std::uint16_t>> slots(mine.size());
  comm::for_each_dealt(
      placement.layers.size(), effort.num_threads,
      [&](std::size_t position, std::size_t item) {
        const MoeLayer layer{item};
        const LayerPlacement annealed = anneal_blocks(
            mine[position], num_blocks, placement.ep, placement.layers[layer],
            current != nullptr ? &current->layers[layer] : nullptr, effort
        );
        for (const SlotId slot : annealed) {
          slots[position].push_back(static_cast<std::uint16_t>(slot.value()));
        }
      },
      comm
  );
  const std::vector<std::vector<std::uint16_t>> all =
      comm::gather_dealt(placement.layers.size(), slots, comm);
  Placement refined = placement;
  for (const MoeLayer layer : ids<MoeLayer>(all.size())) {
    for (const ExpertId expert : ids<ExpertId>(placement.num_experts)) {
      refined.layers[layer][expert] = SlotId{std::int32_t{all[layer.offset()][expert.offset()]}};
    }
  }
  return refined;
}

}  // namespace routepack::planner
