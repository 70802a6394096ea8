// Demand by (layer, expert, block) for a fixed layout, each layer's on the rank that places it.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/communicator.hpp"
#include "routepack/ids.hpp"
#include "routepack/layout.hpp"
#include "routepack/topology.hpp"
#include "routepack/window.hpp"

namespace routepack {

// One layer of the whole window: [E, blocks padded with zeros to a multiple of 16] pairs, where
// block = row * edp + shard.
struct LayerBlocks {
  MoeLayer layer;
  std::vector<std::uint32_t> demand;
};

// Collective. The layers of this rank (l mod ranks = rank), ascending.
[[nodiscard]] std::vector<LayerBlocks> reduce_block_demand(
    const WindowSlice& slice,
    const CellLayout& layout,
    const Topology& topology,
    const Communicator& comm
);

}  // namespace routepack
