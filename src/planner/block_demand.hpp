// Row-aware placement over all ranks: with the layout fixed, every rank refines its layers.
#pragma once

#include "comm/communicator.hpp"
#include "placement/row_aware.hpp"
#include "routepack/layout.hpp"
#include "routepack/placement.hpp"
#include "routepack/topology.hpp"
#include "routepack/window.hpp"

namespace routepack {

// Collective. Re-places the experts of every layer for the peaks of the (row, shard) blocks that
// `layout` makes: demand by (layer, expert, block) is reduced to the layer's rank, refined there
// (layers round-robin over ranks, then over threads), and the slots are gathered.
[[nodiscard]] Placement refine_placement(
    const WindowSlice& slice,
    const CellLayout& layout,
    const Placement& placement,
    const Topology& topology,
    const RowAwareOptions& options,
    int num_threads,
    const Communicator& comm
);

}  // namespace routepack
