// A plan as JSON (format "routepack-plan/1"), and the placement in it or in a file of its own:
// written and read back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "routepack/layout.hpp"
#include "routepack/placement.hpp"
#include "routepack/plan.hpp"
#include "routepack/topology.hpp"

namespace routepack::io {

// One key a line, one layer or row a line; doubles in the shortest form that reads back to the same
// bits. Says nothing that depends on ranks or threads. Throws NUMBER_OUT_OF_RANGE for a figure that
// is not finite, naming it.
[[nodiscard]] std::string plan_text(const Plan& plan);

// Writes plan_text, whole or not at all (AtomicFile).
void write_plan(const std::string& path, const Plan& plan);

// The elements of "placement" in a plan or placement file: for each layer the list of its experts'
// slots, with `comma` between them.
[[nodiscard]] std::vector<std::string> layer_texts(
    const Placement& placement, std::string_view comma
);

// Where experts live now: the "placement" of a plan or placement file, on `ep` EP ranks. Throws
// FILE_MALFORMED, naming the file and the layer, where a layer is no permutation or differs in size
// from the others, EXPERTS_NOT_DIVISIBLE, and USAGE for a plan that was made for another ep.
[[nodiscard]] Placement read_placement(const std::string& path, int ep);

// What other commands need of a plan: where experts and samples go.
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

}  // namespace routepack::io
