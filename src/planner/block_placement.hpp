// Experts for a fixed layout, over all ranks: the demand of its (row, shard) blocks, each layer's
// on the rank that places it, and the placement annealed for it.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/communicator.hpp"
#include "domain/tuning.hpp"
#include "random/stream.hpp"
#include "routepack/ids.hpp"
#include "routepack/layout.hpp"
#include "routepack/placement.hpp"
#include "routepack/simd.hpp"
#include "routepack/topology.hpp"
#include "routepack/window.hpp"

namespace routepack::planner {

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
    const comm::Communicator& comm
);

struct BlockPlacementEffort {
  std::int64_t moves_per_layer = 0;  // proposed swaps of two experts
  std::uint64_t seed = 1;
  std::uint32_t round = 0;  // calls with other rounds draw anew
  int num_threads = 1;
  SimdLevel simd = SimdLevel::kPortable;
  const random::Acceptance& acceptance;
  domain::Tuning::BlockAnnealing tuning = {};
};

// Collective. Re-places the experts of every layer for the peaks of the (row, shard) blocks that
// `layout` makes, by annealing from `placement`; no layer gets worse. EP ranks are numbered so that
// least experts move from `current` (null: from `placement`). The same at any number of ranks and
// threads and any `simd`.
[[nodiscard]] Placement refine_placement(
    const WindowSlice& slice,
    const CellLayout& layout,
    const Placement& placement,
    const Placement* current,
    const Topology& topology,
    const BlockPlacementEffort& effort,
    const comm::Communicator& comm
);

}  // namespace routepack::planner
