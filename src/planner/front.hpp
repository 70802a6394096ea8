// The trade between moving experts and finishing early.
#pragma once

#include <vector>

#include "planner/steps.hpp"
#include "routepack/plan.hpp"

namespace routepack {

// Collective. What other limits on moving experts would give, with `share` of the budget, from
// where `best` and the population are. A point within the terms that beats the plan, the price of
// moving counted in, becomes the best plan. Needs a current placement.
[[nodiscard]] std::vector<MigrationPoint> trace_front(
    const SearchContext& context,
    double share,
    Budget& budget,
    PlacedPopulation& population,
    Best& best
);

}  // namespace routepack
