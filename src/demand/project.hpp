// Projects every sample's demand on the EP ranks of a placement; one copy of the window per node.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "comm/node_shared.hpp"
#include "domain/projected_demand.hpp"
#include "routepack/placement.hpp"
#include "routepack/window.hpp"

namespace routepack {

// Owns the node-shared data of all samples.
class ProjectedDemand {
 public:
  ProjectedDemand(ProjectedDemandView shape, NodeSharedArray<std::uint16_t> narrow);
  ProjectedDemand(ProjectedDemandView shape, NodeSharedArray<std::uint32_t> wide);
  [[nodiscard]] bool is_wide() const { return values_.index() == 1; }
  // Valid while this object lives.
  [[nodiscard]] const ProjectedDemandView& view() const { return view_; }

 private:
  ProjectedDemandView view_;
  std::variant<NodeSharedArray<std::uint16_t>, NodeSharedArray<std::uint32_t>> values_;
};

// Collective over `comm`; `node` is its split_by_node(). 16 bits an element where every element of
// every rank fits, else 32.
[[nodiscard]] ProjectedDemand project_demand(
    const WindowSlice& slice,
    const Placement& placement,
    const Communicator& node,
    const Communicator& comm
);

// The samples of one slice alone, in this process: 32 bits, [n_local, ep, padded layers].
[[nodiscard]] std::vector<std::uint32_t> project_slice(
    const WindowSlice& slice, const Placement& placement
);

}  // namespace routepack
