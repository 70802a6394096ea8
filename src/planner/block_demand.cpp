#include "planner/block_demand.hpp"

#include <utility>

#include "base/check.hpp"
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

}  // namespace routepack
