// Observers run code of others on one rank only: what it throws must not part that rank from the
// rest.
#pragma once

#include "routepack/planner.hpp"

namespace routepack {

// Calls the same functions; their exceptions are dropped.
[[nodiscard]] PlanObserver without_exceptions(PlanObserver observer);

}  // namespace routepack
