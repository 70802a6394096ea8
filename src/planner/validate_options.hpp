// What options a plan can be made with.
#pragma once

#include "routepack/options.hpp"
#include "routepack/window.hpp"

namespace routepack {

// How options whose numbers are valid fit each other and the window. Throws what validate_topology
// and validate_cost do, USAGE for options that contradict each other, TOPOLOGY_MISMATCH and
// FILE_MALFORMED for a current placement of another shape.
void validate_options(const PlanOptions& options, const WindowShape& window);

}  // namespace routepack
