// Experts placed for the demand of the whole window, before there is a layout.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/communicator.hpp"
#include "domain/demand.hpp"
#include "planner/migration.hpp"
#include "routepack/options.hpp"
#include "routepack/placement.hpp"
#include "routepack/window.hpp"

namespace routepack::planner {

// The current placement; without one, experts count as moved against the identity.
[[nodiscard]] Placement placement_before(const PlanOptions& options, const WindowShape& window);

// The experts' placement for the aggregate demand, and what any placement that the options allow
// costs at least.
struct AggregatePlacement {
  Placement placement;
  std::vector<std::int64_t> peak_bounds;  // [L] pairs
};

// Collective. Within the terms; where the options leave no choice it is `before`, and its peaks are
// the bounds. The same on every rank.
[[nodiscard]] AggregatePlacement place_aggregate(
    const domain::Demand& demand,
    const PlanOptions& options,
    const MigrationTerms& terms,
    const Placement& before,
    const domain::Tuning& tuning,
    const comm::Communicator& comm
);

}  // namespace routepack::planner
