// Options for small planning problems.
#pragma once

#include "routepack/options.hpp"
#include "support/search_instance.hpp"
#include "support/window_slice.hpp"

namespace routepack::testing {

inline PlanOptions options_for(const Topology& topology, std::int64_t capacity) {
  PlanOptions options;
  options.topology = topology;
  options.cost = {capacity, {{"full", 10.0, 5.0}}, 1.0};
  options.search.num_sweeps = 40;
  options.search.num_chains = 3;
  return options;
}

}  // namespace routepack::testing
