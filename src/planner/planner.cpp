// The orchestrator: one step of the pipeline a line or two, in the order of the design.
#include "routepack/planner.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "demand/reduce.hpp"
#include "objective/bound.hpp"
#include "objective/evaluate.hpp"
#include "packing/first_fit.hpp"
#include "packing/pack_rows.hpp"
#include "placement/gather.hpp"
#include "planner/agree_inputs.hpp"
#include "planner/observer.hpp"
#include "planner/report.hpp"
#include "planner/search.hpp"

namespace routepack {
namespace {

void validate_options(const PlanOptions& options, const WindowShape& window) {
  validate_topology(options.topology, window.num_experts);
  validate_cost(options.cost);
  RP_CHECK(
      options.row_multiple >= 1, ErrorCode::kNumberOutOfRange, "row_multiple is {}, at least 1",
      options.row_multiple
  );
  if (options.current_placement) {
    RP_CHECK(
        options.current_placement->ep == options.topology.ep, ErrorCode::kTopologyMismatch,
        "the current placement is for ep = {}, not {}", options.current_placement->ep,
        options.topology.ep
    );
    validate_placement(*options.current_placement, window.num_moe_layers(), window.num_experts);
  } else {
    RP_CHECK(
        options.migration.max_moved_fraction >= 1.0 && options.migration.cost_per_expert <= 0.0,
        ErrorCode::kUsage, "a limit or price on moving experts needs the current placement"
    );
  }
}

std::vector<std::int64_t> flatten(const Demand& demand) {
  std::vector<std::int64_t> flat;
  for (const ExpertDemand& layer : demand) {
    flat.insert(flat.end(), layer.begin(), layer.end());
  }
  return flat;
}

Placement placement_before(const PlanOptions& options, const WindowShape& window) {
  return options.current_placement.value_or(
      identity_placement(window.num_moe_layers(), window.num_experts, options.topology.ep)
  );
}

}  // namespace

Plan make_plan(
    const WindowSlice& slice,
    const PlanOptions& options,
    MPI_Comm mpi_comm,
    const PlanObserver& told_observer
) {
  const Communicator comm(mpi_comm);
  const PlanObserver observer = without_exceptions(told_observer);
  const auto log = [&](const std::string& line) {
    if (comm.is_root() && observer.log) {
      observer.log(line);
    }
  };
  agree_on_plan_inputs(slice, options, comm);
  agree_on([&] { validate_options(options, slice.shape); }, comm);

  // 1. Demand
  const WindowDemand window = reduce_demand(slice, comm);
  const std::vector<std::int64_t> demand = flatten(window.demand);
  const std::vector<std::int64_t> lengths = all_gather(slice.lengths, comm);

  // 2. Placement of the aggregate demand
  const Placement* current = options.current_placement ? &*options.current_placement : nullptr;
  const PlacementProblem placement_problem{
      demand, slice.shape.num_moe_layers(), slice.shape.num_experts, options.topology.ep, current};
  const PlacementResult placed = place_experts(placement_problem, {}, options.search.seed, comm);
  const MigrationTerms terms = migration_terms(options, slice.shape);
  const Placement aggregate =
      terms.is_free ? placed.placement : migration_for_demand(demand, *current, options, terms);
  log(fmt::format("placement layers={} experts={}", placed.peak.size(), slice.shape.num_experts));

  // 3. Rows: the fewest, with their proof
  const PaddedLengths padded = agree_on(
      [&] {
        PaddedLengths lengths_to_pack =
            pad_lengths(lengths, options.pad_multiple, options.cost.capacity_tokens);
        check_squared_lengths(lengths_to_pack, options.cost.capacity_tokens);
        return lengths_to_pack;
      },
      comm
  );
  const PackedRows rows = agree_on(
      [&] {
        return pack_rows(
            padded, options.cost.capacity_tokens, options.topology.dp, options.row_multiple, {}
        );
      },
      comm
  );
  const FirstFit first_fit = first_fit_decreasing(
      padded, options.cost.capacity_tokens, options.topology.dp, options.row_multiple
  );
  log(fmt::format(
      "rows={} lower_bound={} proof={}", rows.certificate.num_rows,
      rows.certificate.lower_bound_rows, rows.certificate.bound.kind
  ));

  // 4. Bound, then search
  const ShardBound bound =
      max_shard_lower_bound(padded, placed.lower_bound.values(), options.topology, options.cost);
  const SearchOutput found = search_plan(
      {slice, options, padded, terms, aggregate, first_fit.layout, rows.layout, bound.max_shard},
      observer, comm
  );

  // 5. The plan, its figures recomputed
  Plan plan;
  plan.window = slice.shape;
  plan.window.num_samples = static_cast<std::int64_t>(lengths.size());
  plan.total_tokens = window.total_tokens;
  plan.unrouted_tokens = window.unrouted_tokens;
  plan.topology = options.topology;
  plan.cost = options.cost;
  plan.row_multiple = options.row_multiple;
  plan.pad_multiple = options.pad_multiple;
  plan.search = found.search;
  plan.constraints = options.constraints;
  plan.migration_front = found.front;
  plan.rows = rows.certificate;
  plan.placement = found.placement;
  plan.layout = found.layout;
  const Placement before = placement_before(options, slice.shape);
  const auto measure = [&](const CellLayout& layout, const Placement& placement) {
    return measure_policy(slice, padded, layout, placement, options, comm);
  };
  plan.baseline = measure(
      first_fit.layout,
      identity_placement(slice.shape.num_moe_layers(), slice.shape.num_experts, options.topology.ep)
  );
  plan.reorder = measure(first_fit.layout, aggregate);
  plan.routepack = measure(plan.layout, plan.placement);
  plan.objective = plan.routepack.score;
  plan.lower_bound = bound;
  plan.moved_experts = count_moved_experts(before, plan.placement);
  if (options.migration.bytes_per_expert > 0) {
    plan.moved_bytes = plan.moved_experts * options.migration.bytes_per_expert;
  }
  plan.digest = digest_plan(plan);
  agree_same(plan.digest, "the plan", comm);
  check_plan(plan, padded);
  log(fmt::format(
      "plan max_shard={:.6g} gap={:.3f}% digest={}", plan.objective.max_shard, 100.0 * plan.gap(),
      plan.digest
  ));
  return plan;
}

}  // namespace routepack
