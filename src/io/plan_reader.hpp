// What other commands need of a plan file: where experts and samples go.
#pragma once

#include <cstdint>
#include <string>

#include "routepack/layout.hpp"
#include "routepack/placement.hpp"
#include "routepack/topology.hpp"

namespace routepack {

struct PlanFile {
  Topology topology;
  std::int64_t capacity_tokens = 0;
  int row_multiple = 1;
  std::int64_t pad_multiple = 1;
  Placement placement;
  CellLayout layout;
  std::string digest;
};

// Throws FILE_MALFORMED, naming the file and key, for what is no plan: a sample in no cell or in
// two, rows of different size, a placement that is no permutation. Figures are not recomputed.
[[nodiscard]] PlanFile read_plan(const std::string& path);

}  // namespace routepack
