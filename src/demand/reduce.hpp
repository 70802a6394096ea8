// Sums the ranks' demand into the window's, and checks that nothing was lost or counted twice.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/node_shared.hpp"
#include "domain/demand.hpp"
#include "routepack/placement.hpp"
#include "routepack/window.hpp"

namespace routepack::demand {

// Collective; the same result on every rank. Throws DEMAND_NOT_CONSERVED, naming the layer, unless
// every layer's total is top_k * (tokens with a route), up to the top_k - 1 pairs by which counted
// demand may miss a multiple.
[[nodiscard]] domain::WindowDemand reduce_demand(
    const WindowSlice& slice, const comm::Communicator& comm
);

// Collective. Routed pairs of every sample of the window at the MoE layer that has fewest of them
// (all have the same number, up to what the recording lost).
[[nodiscard]] IndexVector<SampleId, std::int64_t> gather_routed_pairs(
    const WindowSlice& slice, const comm::Communicator& comm
);

// Routed pairs of each MoE layer.
[[nodiscard]] std::vector<std::int64_t> pairs_of_layers(const domain::Demand& demand);

// Projects every sample's demand on the EP ranks of a placement; one copy of the window per node.

// Owns the node-shared data of all samples.
class ProjectedDemand {
 public:
  ProjectedDemand(domain::ProjectedDemandView shape, comm::NodeSharedArray<std::uint16_t> narrow);
  ProjectedDemand(domain::ProjectedDemandView shape, comm::NodeSharedArray<std::uint32_t> wide);
  [[nodiscard]] bool is_wide() const { return values_.index() == 1; }
  // Valid while this object lives.
  [[nodiscard]] const domain::ProjectedDemandView& view() const { return view_; }

 private:
  domain::ProjectedDemandView view_;
  std::variant<comm::NodeSharedArray<std::uint16_t>, comm::NodeSharedArray<std::uint32_t>> values_;
};

// Collective over `comm`; `node` is its split_by_node(). 16 bits an element where every element of
// every rank fits, else 32.
[[nodiscard]] ProjectedDemand project_demand(
    const WindowSlice& slice,
    const Placement& placement,
    const comm::Communicator& node,
    const comm::Communicator& comm
);

// The samples of one slice alone, in this process: 32 bits, [n_local, ep, padded layers].
[[nodiscard]] std::vector<std::uint32_t> project_slice(
    const WindowSlice& slice, const Placement& placement
);

}  // namespace routepack::demand
