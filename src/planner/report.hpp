// From a layout and a placement to a plan that has been checked.
#pragma once

#include "comm/communicator.hpp"
#include "domain/cell_rules.hpp"
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

// The bound as the plan states it: the objective itself where the two differ by rounding alone, or
// where all plans have been looked at (kind "enumerated").
[[nodiscard]] ShardBound settled_bound(ShardBound bound, const Score& objective, bool enumerated);

// Stops the program (a broken invariant of ours) unless the plan covers every sample once, under
// the capacity and the other rules, without empty cells, with permutations as placement, is no
// worse than `reorder` in as many rows, and the proof of its rows holds when it is recomputed.
void check_plan(const Plan& plan, const PaddedLengths& padded, const CellRules& rules);

}  // namespace routepack
