// The search of a plan: annealing the layout and re-placing the experts for it, in turns.
#pragma once

#include <vector>

#include "planner/context.hpp"
#include "routepack/layout.hpp"
#include "routepack/options.hpp"
#include "routepack/placement.hpp"
#include "routepack/plan.hpp"

namespace routepack::planner {

struct SearchOutput {
  Placement placement;
  CellLayout layout;
  SearchOptions search;  // completed, sweeps as done
  SearchEnd ended = SearchEnd::kBudget;
  bool enumerated = false;            // all plans are known: this is the best there is
  std::vector<MigrationPoint> front;  // only with a current placement
};

// Collective. Never worse than the aggregate's placement with first fit (where that has the rows to
// use and no rule limits the numbers of samples), nor, with a current placement, than keeping that.
// Ends as soon as max_shard is within the target gap of the lower bound, or reaches it.
[[nodiscard]] SearchOutput search_plan(const PlanContext& plan);

}  // namespace routepack::planner
