// From a layout and a placement to a plan that has been checked.
#pragma once

#include "comm/communicator.hpp"
#include "packing/lengths.hpp"
#include "routepack/plan.hpp"
#include "routepack/window.hpp"

namespace routepack {

// Collective. The figures of a policy, recomputed from the window by the slow path.
[[nodiscard]] PolicyMetrics measure_policy(
    const WindowSlice& slice,
    const PaddedLengths& padded,
    const CellLayout& layout,
    const Placement& placement,
    const PlanOptions& options,
    const Communicator& comm
);

// Of placement, cells and objective: equal plans have equal digests.
[[nodiscard]] std::string digest_plan(const Plan& plan);

// Stops the program (a broken invariant of ours) unless the plan covers every sample once, under
// the capacity, without empty cells, with permutations as placement, and is no worse than
// `reorder` in as many rows.
void check_plan(const Plan& plan, const PaddedLengths& padded);

}  // namespace routepack
