// Planning with what users do not set: for the program, tests and benches.
#pragma once

#include "domain/tuning.hpp"
#include "routepack/planner.hpp"

namespace routepack::planner {

// Of one call, beside the options.
struct PlanRun {
  domain::Tuning tuning;       // the same on every rank
  double seconds_spent = 0.0;  // of the time limit, before the call; the root's value counts
};

// Collective. As make_plan of routepack/planner.hpp, which runs with the defaults.
[[nodiscard]] Plan make_plan(
    const WindowSlice& slice,
    const PlanOptions& options,
    const PlanRun& run,
    MPI_Comm comm,
    const PlanObserver& observer = {}
);

}  // namespace routepack::planner
