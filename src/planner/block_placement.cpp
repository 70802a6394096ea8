#include "planner/block_placement.hpp"

#include <utility>

#include "base/checked.hpp"
#include "base/parallel_errors.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "placement/row_annealing.hpp"
#include "random/stream.hpp"

namespace routepack {

namespace {

constexpr std::size_t kBlockPadding = 16;

// Of the local samples, at one layer: [E, blocks padded to 16] pairs.
std::vector<std::uint32_t> sum_layer(
    const WindowSlice& slice, const CellLayout& layout, const Topology& topology, MoeLayer layer
) {
  const auto experts = static_cast<std::size_t>(slice.shape.num_experts);
  const auto layers = static_cast<std::size_t>(slice.shape.num_moe_layers());
  const auto blocks = static_cast<std::size_t>(layout.num_rows * topology.edp());
  const std::size_t padded = round_up(blocks, kBlockPadding);
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

// Slots of the layers, one after another.
std::vector<std::uint16_t> anneal_layers(
    const std::vector<LayerBlocks>& layers,
    int num_blocks,
    const Placement& placement,
    const Placement* current,
    const RowPlacementEffort& effort
) {
  const auto experts = static_cast<std::size_t>(placement.num_experts);
  std::vector<std::uint16_t> slots(layers.size() * experts);
  ParallelErrors errors(layers.size());
  const auto count = static_cast<std::int32_t>(layers.size());
#pragma omp parallel for schedule(dynamic) num_threads(effort.num_threads)
  for (std::int32_t n = 0; n < count; ++n) {
    const auto at = static_cast<std::size_t>(n);
    errors.run(at, [&] {
      const MoeLayer layer = layers[at].layer;
      const LayerPlacement annealed = anneal_blocks(
          layers[at], num_blocks, placement.ep, placement.layers[layer],
          current != nullptr ? &current->layers[layer] : nullptr, effort
      );
      for (const ExpertId expert : ids<ExpertId>(experts)) {
        slots[at * experts + expert.offset()] =
            static_cast<std::uint16_t>(annealed[expert].value());
      }
    });
  }
  errors.rethrow_first();
  return slots;
}

}  // namespace

std::vector<LayerBlocks> reduce_block_demand(
    const WindowSlice& slice,
    const CellLayout& layout,
    const Topology& topology,
    const Communicator& comm
) {
  std::vector<LayerBlocks> mine;
  for (const MoeLayer layer : ids<MoeLayer>(slice.shape.num_moe_layers())) {
    const int owner = layer.value() % comm.num_mpi_ranks();
    std::vector<std::uint32_t> sums =
        reduce_sum(sum_layer(slice, layout, topology, layer), owner, comm);
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
    const RowPlacementEffort& effort,
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
