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
// `layout` makes, starting from `placement`; EP ranks are numbered so that least experts move from
// `current` (null: from `placement`). The same at any number of ranks and threads.
[[nodiscard]] Placement refine_placement(
    const WindowSlice& slice,
    const CellLayout& layout,
    const Placement& placement,
    const Placement* current,
    const Topology& topology,
    int num_threads,
    const Communicator& comm
);

}  // namespace routepack
