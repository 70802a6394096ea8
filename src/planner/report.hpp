// What leaves the planner: a plan with its figures, checked; and words to observers.
#pragma once

#include <string>

#include "comm/communicator.hpp"
#include "domain/cell_rules.hpp"
#include "domain/demand.hpp"
#include "packing/lengths.hpp"
#include "planner/search.hpp"
#include "routepack/plan.hpp"
#include "routepack/window.hpp"

namespace routepack::planner {

// Collective. What was found, with its figures and those of the other policies recomputed from the
// window by the slow path; checked, and compared over the ranks.
[[nodiscard]] Plan describe_plan(
    const PlanContext& context, const domain::WindowDemand& window, const SearchOutput& found
);

// Stops the program (a broken invariant of ours) unless the plan covers every sample once, under
// the capacity and the other rules, without empty cells, with permutations as placement, is no
// worse than `reorder` in as many rows, and the proof of its rows holds when it is recomputed.
void check_plan(
    const Plan& plan, const packing::PaddedLengths& padded, const domain::CellRules& rules
);

// Observers run code of others on one rank only: what it throws must not part that rank from the
// rest. Calls the same functions; their exceptions are dropped.
[[nodiscard]] PlanObserver without_exceptions(PlanObserver observer);

}  // namespace routepack::planner
