// Row-aware placement over all ranks: with the layout fixed, every rank refines its layers.
#pragma once

#include <cstdint>

#include "comm/communicator.hpp"
#include "placement/row_aware.hpp"
#include "routepack/layout.hpp"
#include "routepack/placement.hpp"
#include "routepack/simd.hpp"
#include "routepack/topology.hpp"
#include "routepack/window.hpp"

namespace routepack {

// Collective. Re-places the experts of every layer for the peaks of the (row, shard) blocks that
// `layout` makes: a descent from `placement`, then iterated local search, perturbing the best
// placement so far and descending again, as often as the layer's size allows. EP ranks are numbered
// so that least experts move from `current` (null: from `placement`). `seed` drives the
// perturbations. The same at any number of ranks and threads and any `simd`.
[[nodiscard]] Placement refine_placement(
    const WindowSlice& slice,
    const CellLayout& layout,
    const Placement& placement,
    const Placement* current,
    const Topology& topology,
    std::uint64_t seed,
    int num_threads,
    SimdLevel simd,
    const Communicator& comm
);

}  // namespace routepack
