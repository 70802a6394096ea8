// A plan as JSON (format "routepack-plan/1").
#pragma once

#include <string>

#include "routepack/plan.hpp"

namespace routepack {

// One key a line, one layer or row a line; doubles in the shortest form that reads back to the same
// bits. Says nothing that depends on ranks or threads. Throws NUMBER_OUT_OF_RANGE for a figure that
// is not finite, naming it.
[[nodiscard]] std::string plan_text(const Plan& plan);

// Writes plan_text, whole or not at all (AtomicFile).
void write_plan(const std::string& path, const Plan& plan);

}  // namespace routepack
