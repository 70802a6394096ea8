// What is settled before the search begins: read by its steps and by the report, changed by none.
#pragma once

#include "comm/communicator.hpp"
#include "domain/cell_rules.hpp"
#include "packing/lengths.hpp"
#include "packing/pack_rows.hpp"
#include "planner/migration.hpp"
#include "planner/planner.hpp"
#include "routepack/options.hpp"
#include "routepack/plan.hpp"
#include "routepack/window.hpp"

namespace routepack::planner {

// Who refers to it is collective: it knows the communicator.
struct PlanContext {
  const WindowSlice& slice;
  const PlanOptions& options;
  const PlanRun& run;
  const packing::PaddedLengths& padded;
  const packing::PaddedLengths& in_cells;  // what each takes of a cell's capacity
  const domain::CellRules& rules;
  const MigrationTerms& terms;
  const Placement& before;          // where experts are now, or as good as
  const Placement& aggregate;       // of the aggregate demand, within the terms
  const CellLayout& first_fit;      // a start too, where it has as many rows
  const packing::PackedRows& rows;  // to use, with a feasible layout
  const ShardBound& bound;
  const PlanObserver& observer;
  const comm::Communicator& comm;

  [[nodiscard]] const domain::Tuning& tuning() const { return run.tuning; }
  // Whether experts may move at all.
  [[nodiscard]] bool places_experts() const {
    return slice.shape.num_moe_layers() > 0 &&
           options.constraints.placement == PlacementChoice::kFree;
  }
};

}  // namespace routepack::planner
