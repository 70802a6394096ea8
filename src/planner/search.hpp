// The search of a plan: annealing the layout and re-placing the experts for it, in turns.
#pragma once

#include <vector>

#include "comm/communicator.hpp"
#include "domain/cell_rules.hpp"
#include "packing/lengths.hpp"
#include "planner/migration.hpp"
#include "routepack/options.hpp"
#include "routepack/plan.hpp"
#include "routepack/planner.hpp"

namespace routepack {

struct SearchInput {
  const WindowSlice& slice;
  const PlanOptions& options;
  const PaddedLengths& padded;
  const PaddedLengths& in_cells;  // what each takes of a cell's capacity
  const CellRules& rules;
  const MigrationTerms& terms;
  const Placement& placement;   // of the aggregate demand, within the terms
  const Placement& before;      // where experts are now, or as good as
  const CellLayout& first_fit;  // a start too, where it has as many rows
  const CellLayout& packed;     // a feasible layout of the rows to use
  double lower_bound = 0.0;     // of max_shard, for reports
};

struct SearchOutput {
  Placement placement;
  CellLayout layout;
  SearchOptions search;  // completed, sweeps as done
  SearchEnd ended = SearchEnd::kBudget;
  bool enumerated = false;            // all plans are known: this is the best there is
  std::vector<MigrationPoint> front;  // only with a current placement
};

// Collective. Never worse than `placement` with `first_fit` (where that has the rows of `packed`
// and no rule limits the numbers of samples), nor, with a current placement, than keeping that.
// Ends as soon as max_shard is within the target gap of the lower bound, or reaches it.
[[nodiscard]] SearchOutput search_plan(
    const SearchInput& input, const PlanObserver& observer, const Communicator& comm
);

}  // namespace routepack
