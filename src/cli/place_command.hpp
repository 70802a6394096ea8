// What `place` writes.
#pragma once

#include <string>

#include "placement/aggregate/place_experts.hpp"

namespace routepack::cli {

// {"placement": [[slot of expert] …], "peak": […], "lower_bound": […], "moved_experts": n}, a layer
// of the placement a line.
[[nodiscard]] std::string placement_text(const PlacementResult& result);

}  // namespace routepack::cli
