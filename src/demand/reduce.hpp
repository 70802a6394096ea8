// Sums the ranks' demand into the window's, and checks that nothing was lost or counted twice.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/communicator.hpp"
#include "domain/demand.hpp"
#include "routepack/window.hpp"

namespace routepack {

// Collective; the same result on every rank. Throws DEMAND_NOT_CONSERVED, naming the layer, unless
// every layer's total is top_k * (tokens with a route), up to the top_k - 1 pairs by which counted
// demand may miss a multiple.
[[nodiscard]] WindowDemand reduce_demand(const WindowSlice& slice, const Communicator& comm);

// Collective. Routed pairs of every sample of the window at the MoE layer that has fewest of them
// (all have the same number, up to what the recording lost).
[[nodiscard]] IndexVector<SampleId, std::int64_t> gather_routed_pairs(
    const WindowSlice& slice, const Communicator& comm
);

// Routed pairs of each MoE layer.
[[nodiscard]] std::vector<std::int64_t> pairs_of_layers(const Demand& demand);

}  // namespace routepack
