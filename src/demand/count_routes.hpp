// Counts token routes into demand at memory speed: a tile of tokens, in private memory, is checked
// with vector instructions, then counted without any further check. A tile with anything unusual (a
// missing route, a fault) goes to the exact path, which names what is wrong.
#pragma once

#include "demand/counted_demand.hpp"
#include "io/window_reader.hpp"

namespace routepack {

// Demand of the samples in `range`. Throws EXPERT_ID_OUT_OF_RANGE, DUPLICATE_EXPERT_IN_ROW,
// PARTIAL_SENTINEL or LAYER_ALL_ZERO naming the first faulty sample, token and layer, and
// FILE_MALFORMED where the file has become shorter. Equal to count_routes_exact in result and
// errors.
[[nodiscard]] CountedDemand count_routes(const RouteView& routes, SampleRange range);

}  // namespace routepack
