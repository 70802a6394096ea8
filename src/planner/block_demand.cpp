#include "planner/block_demand.hpp"

#include <cstdint>
#include <vector>

#include "base/checked.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"

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

}  // namespace

Placement refine_placement(
    const WindowSlice& slice,
    const CellLayout& layout,
    const Placement& placement,
    const Topology& topology,
    const RowAwareOptions& options,
    int num_threads,
    const Communicator& comm
) {
  const int num_layers = slice.shape.num_moe_layers();
  const int ranks = comm.num_mpi_ranks();
  const int num_blocks = layout.num_rows * topology.edp();
  const auto experts = static_cast<std::size_t>(placement.num_experts);
  std::vector<MoeLayer> mine;
  std::vector<std::vector<std::uint32_t>> demand;
  for (const MoeLayer layer : ids<MoeLayer>(num_layers)) {
    const int owner = layer.value() % ranks;
    std::vector<std::uint32_t> sums =
        reduce_sum(sum_layer(slice, layout, topology, layer), owner, comm);
    if (owner == comm.mpi_rank()) {
      mine.push_back(layer);
      demand.push_back(std::move(sums));
    }
  }
  std::vector<std::uint16_t> slots(mine.size() * experts);
  agree_on(
      [&] {
        const auto count = static_cast<std::int32_t>(mine.size());
#pragma omp parallel for schedule(static) num_threads(num_threads)
        for (std::int32_t n = 0; n < count; ++n) {
          const auto at = static_cast<std::size_t>(n);
          const RowAwareResult refined = refine_layer(
              demand[at], num_blocks, topology.ep, placement.layers[mine[at]], options
          );
          for (const ExpertId expert : ids<ExpertId>(experts)) {
            slots[at * experts + expert.offset()] =
                static_cast<std::uint16_t>(refined.slots[expert].value());
          }
        }
      },
      comm
  );
  const std::vector<std::uint16_t> all = all_gather(slots, comm);
  Placement refined = placement;
  std::size_t next = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    for (int layer = rank; layer < num_layers; layer += ranks) {
      for (const ExpertId expert : ids<ExpertId>(experts)) {
        refined.layers[MoeLayer{layer}][expert] = SlotId{static_cast<std::int32_t>(all[next++])};
      }
    }
  }
  return refined;
}

}  // namespace routepack
