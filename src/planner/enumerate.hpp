// Tiny windows exactly: every layout, and every placement that matters, is looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "domain/tuning.hpp"
#include "objective/search_problem.hpp"
#include "routepack/layout.hpp"
#include "routepack/placement.hpp"

namespace routepack::planner {

struct EnumerationInput {
  const objective::SearchProblem& problem;   // under `placement`
  const Placement& placement;                // kept where no other is better
  const Placement& before;                   // least experts move against it
  bool places_experts = false;               // false: `placement` stays
  const std::vector<std::uint32_t>& demand;  // [N, L, E] pairs of the whole window
  const domain::Tuning::Enumeration& tuning;
};

struct Enumerated {
  Placement placement;
  CellLayout layout;
};

// The layout and placement with the lowest score, by branch and bound over layouts that differ in
// more than the order of cells, rows and shards, and over the placements that differ in more than
// the numbering of EP ranks. Empty where the window has too many of either: above
// the samples of `tuning`, or after its amount of work, so that the answer is the same everywhere.
[[nodiscard]] std::optional<Enumerated> enumerate_plans(const EnumerationInput& input);

}  // namespace routepack::planner
