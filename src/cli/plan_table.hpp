// What `plan` prints on stdout: the three policies side by side, and what is proven.
#pragma once

#include <string>

#include "routepack/plan.hpp"

namespace routepack::cli {

// A line a metric; changes are of the plan against baseline and reorder, in percent (negative:
// smaller). Ends with the row certificate, the gap to the lower bound and the experts to move.
[[nodiscard]] std::string plan_table(const Plan& plan);

}  // namespace routepack::cli
