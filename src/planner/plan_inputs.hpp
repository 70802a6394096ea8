// What callers of make_plan pass, checked before anything is computed from it: numbers and sizes on
// every rank, that options fit each other and the window, and that all ranks were given the same.
#pragma once

#include <vector>

#include "comm/agreement.hpp"
#include "routepack/options.hpp"
#include "routepack/placement.hpp"
#include "routepack/window.hpp"

namespace routepack::planner {

// Every option that decides the plan, as names and values. Not those that ranks may differ in:
// num_threads and max_simd.
[[nodiscard]] std::vector<comm::NamedEvidence> evidence_of(const PlanOptions& options);

// The contents, by their digest.
[[nodiscard]] comm::NamedEvidence evidence_of(const Placement& placement, const char* name);

// Throws NUMBER_OUT_OF_RANGE for a number of the search, of moving or of padding that no plan can
// be made with.
void validate_numbers(const PlanOptions& options);

// Throws NUMBER_OUT_OF_RANGE and USAGE for a shape that contradicts itself, vectors whose sizes do
// not fit it, and demand above a sample's tokens.
void validate_slice(const WindowSlice& slice);

// How options whose numbers are valid fit each other and the window. Throws what validate_topology
// and validate_cost do, USAGE for options that contradict each other, TOPOLOGY_MISMATCH and
// FILE_MALFORMED for a current placement of another shape.
void validate_options(const PlanOptions& options, const WindowShape& window);

// Collective. All of the above, and that the slices of all ranks make the window. `seconds_spent`
// (of the time limit) may differ between ranks. Throws on every rank: INPUT_DISAGREEMENT naming the
// option, both values and the ranks; else the fault.
void agree_on_plan_inputs(
    const WindowSlice& slice,
    const PlanOptions& options,
    double seconds_spent,
    const comm::Communicator& comm
);

}  // namespace routepack::planner
