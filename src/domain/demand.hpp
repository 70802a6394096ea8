// Routing demand of a whole window: exact 64-bit counts.
#pragma once

#include <cstdint>

#include "routepack/ids.hpp"

namespace routepack {

// Routed (token, expert) pairs of each expert of one layer.
using ExpertDemand = IndexVector<ExpertId, std::int64_t>;
using Demand = IndexVector<MoeLayer, ExpertDemand>;

// The window's demand, with what it was counted from.
struct WindowDemand {
  Demand demand;
  std::int64_t num_samples = 0;
  std::int64_t total_tokens = 0;  // unpadded
  std::int64_t unrouted_tokens = 0;
};

}  // namespace routepack
