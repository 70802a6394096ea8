// The search of a plan: annealing the layout and re-placing the experts for it, in turns.
#pragma once

#include <string>

#include "comm/communicator.hpp"
#include "packing/pack_rows.hpp"
#include "routepack/options.hpp"
#include "routepack/planner.hpp"

namespace routepack {

struct SearchInput {
  const WindowSlice& slice;
  const PlanOptions& options;
  const IndexVector<SampleId, std::int64_t>& padded_lengths;
  const Placement& placement;   // of the aggregate demand
  const CellLayout& first_fit;  // a start too, where it has as many rows
  const CellLayout& packed;     // a feasible layout of the rows to use
  double lower_bound = 0.0;     // of max_shard, for reports
};

struct SearchOutput {
  Placement placement;
  CellLayout layout;
  SearchOptions search;  // completed
  bool time_limited = false;
  double max_shard = 0.0;  // as the search saw it
};

// Collective. Never worse than `placement` with `first_fit` (where that has the rows of `packed`).
[[nodiscard]] SearchOutput search_plan(
    const SearchInput& input, const PlanObserver& observer, const Communicator& comm
);

}  // namespace routepack
