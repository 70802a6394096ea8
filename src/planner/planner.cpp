// The orchestrator: one step of the pipeline a line or two, in the order of the design.
#include "planner/planner.hpp"

#include <fmt/format.h>

#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "demand/reduce.hpp"
#include "objective/bound.hpp"
#include "objective/evaluate.hpp"
#include "packing/fits.hpp"
#include "packing/pack_rows.hpp"
#include "planner/aggregate.hpp"
#include "planner/plan_inputs.hpp"
#include "planner/report.hpp"
#include "planner/search.hpp"

namespace routepack::planner {
namespace {

// Padded as the trainer does, and such that sums of squares fit.
packing::PaddedLengths pad_window(
    const std::vector<std::int64_t>& lengths, const PlanOptions& options
) {
  const std::int64_t capacity = options.cost.capacity_tokens;
  packing::PaddedLengths padded =
      packing::pad_lengths(lengths, options.pad_multiple, capacity, options.constraints.oversize);
  objective::check_squared_lengths(padded, capacity);
  return padded;
}

}  // namespace

Plan make_plan(
    const WindowSlice& slice,
    const PlanOptions& options,
    const PlanRun& run,
    MPI_Comm mpi_comm,
    const PlanObserver& told_observer
) {
  const comm::Communicator comm(mpi_comm);
  const PlanObserver observer = without_exceptions(told_observer);
  const auto log = [&](const std::string& line) {
    if (comm.is_root() && observer.log) {
      observer.log(line);
    }
  };
  agree_on_plan_inputs(slice, options, run.seconds_spent, comm);

  // 1. Demand
  const domain::WindowDemand window = demand::reduce_demand(slice, comm);
  const std::vector<std::int64_t> lengths = comm::all_gather(slice.lengths, comm);

  // 2. Placement of the aggregate demand
  const Placement before = placement_before(options, slice.shape);
  const MigrationTerms terms = migration_terms(options, slice.shape);
  const AggregatePlacement aggregate =
      place_aggregate(window.demand, options, terms, before, run.tuning, comm);
  log(fmt::format(
      "placement layers={} experts={}", slice.shape.num_moe_layers(), slice.shape.num_experts
  ));

  // 3. Rows: the fewest, with their proof
  const std::int64_t capacity = options.cost.capacity_tokens;
  const domain::CellRules rules = domain::cell_rules(options, slice.shape.top_k);
  const packing::PaddedLengths padded =
      comm::agree_on([&] { return pad_window(lengths, options); }, comm);
  const packing::PaddedLengths in_cells = packing::lengths_in_cells(padded, capacity);
  const packing::PackedRows rows = comm::agree_on(
      [&] {
        return packing::pack_counted_rows(
            in_cells, rules, options.topology, options.row_multiple, run.tuning
        );
      },
      comm
  );
  const packing::FirstFit first_fit =
      packing::first_fit_decreasing(in_cells, capacity, options.topology.dp, options.row_multiple);
  log(fmt::format(
      "rows={} lower_bound={} proof={}", rows.certificate.num_rows,
      rows.certificate.lower_bound_rows, rows.certificate.bound.kind
  ));

  // 4. Bound, then search
  const IndexVector<SampleId, std::int64_t> routed_pairs = demand::gather_routed_pairs(slice, comm);
  const ShardBound bound = objective::max_shard_lower_bound(
      {padded, routed_pairs, demand::pairs_of_layers(window.demand), aggregate.peak_bounds,
       options.topology, options.cost, rules, rows.certificate.num_rows}
  );
  const PlanContext context{
      slice,
      options,
      run,
      padded,
      in_cells,
      rules,
      terms,
      before,
      aggregate.placement,
      first_fit.layout,
      rows,
      bound,
      observer,
      comm};
  const SearchOutput found = search_plan(context);

  // 5. The plan, its figures recomputed
  Plan plan = describe_plan(context, window, found);
  log(fmt::format(
      "plan max_shard={:.6g} gap={:.3f}% digest={}", plan.objective.max_shard, 100.0 * plan.gap(),
      plan.digest
  ));
  return plan;
}

}  // namespace routepack::planner

namespace routepack {

Plan make_plan(
    const WindowSlice& slice,
    const PlanOptions& options,
    MPI_Comm comm,
    const PlanObserver& observer
) {
  return planner::make_plan(slice, options, planner::PlanRun{}, comm, observer);
}

}  // namespace routepack
