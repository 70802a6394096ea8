// The orchestrator: one step of the pipeline a line or two, in the order of the design.
#include "routepack/planner.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/check.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "demand/reduce.hpp"
#include "objective/bound.hpp"
#include "objective/evaluate.hpp"
#include "packing/counted_rows.hpp"
#include "packing/first_fit.hpp"
#include "placement/gather.hpp"
#include "planner/agree_inputs.hpp"
#include "planner/observer.hpp"
#include "planner/report.hpp"
#include "planner/search.hpp"
#include "planner/validate_options.hpp"

namespace routepack {
namespace {

Placement placement_before(const PlanOptions& options, const WindowShape& window) {
  return options.current_placement.value_or(
      identity_placement(window.num_moe_layers(), window.num_experts, options.topology.ep)
  );
}

// The experts' placement for the aggregate demand, and what any placement that the options allow
// costs at least.
struct AggregatePlacement {
  Placement placement;
  std::vector<std::int64_t> peak_bounds;  // [L] pairs
};

// A placement that stays: its peaks are the bounds.
AggregatePlacement keep_placement(Placement placement, const Demand& demand) {
  AggregatePlacement kept;
  for (const MoeLayer layer : ids<MoeLayer>(demand.num_layers)) {
    const std::span<const std::int64_t> pairs = demand.of(layer);
    std::vector<std::int64_t> load(static_cast<std::size_t>(placement.ep), 0);
    for (const ExpertId expert : ids<ExpertId>(demand.num_experts)) {
      load[placement.ep_rank_of(layer, expert).offset()] += pairs[expert.offset()];
    }
    kept.peak_bounds.push_back(*std::ranges::max_element(load));
  }
  kept.placement = std::move(placement);
  return kept;
}

AggregatePlacement place_aggregate(
    const Demand& demand,
    const PlanOptions& options,
    const MigrationTerms& terms,
    const Communicator& comm
) {
  const Placement* current = options.current_placement ? &*options.current_placement : nullptr;
  const PlacementProblem problem{
      demand.pairs, demand.num_layers, demand.num_experts, options.topology.ep, current};
  PlacementResult placed = place_experts(problem, {}, options.search.seed, comm);
  return {
      terms.is_free ? std::move(placed.placement)
                    : migration_for_demand(demand.pairs, *current, options, terms),
      placed.lower_bound.values()};
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
  const std::vector<std::int64_t> lengths = all_gather(slice.lengths, comm);

  // 2. Placement of the aggregate demand
  const Placement before = placement_before(options, slice.shape);
  const MigrationTerms terms = migration_terms(options, slice.shape);
  const AggregatePlacement aggregate = options.constraints.placement == PlacementChoice::kFree
                                           ? place_aggregate(window.demand, options, terms, comm)
                                           : keep_placement(before, window.demand);
  log(fmt::format(
      "placement layers={} experts={}", slice.shape.num_moe_layers(), slice.shape.num_experts
  ));

  // 3. Rows: the fewest, with their proof
  const std::int64_t capacity = options.cost.capacity_tokens;
  const CellRules rules = cell_rules(options, slice.shape.top_k);
  const PaddedLengths padded = agree_on(
      [&] {
        PaddedLengths lengths_to_pack =
            pad_lengths(lengths, options.pad_multiple, capacity, options.constraints.oversize);
        check_squared_lengths(lengths_to_pack, capacity);
        return lengths_to_pack;
      },
      comm
  );
  const PaddedLengths in_cells = lengths_in_cells(padded, capacity);
  const PackedRows rows = agree_on(
      [&] {
        return pack_counted_rows(in_cells, rules, options.topology, options.row_multiple, {});
      },
      comm
  );
  const FirstFit first_fit =
      first_fit_decreasing(in_cells, capacity, options.topology.dp, options.row_multiple);
  log(fmt::format(
      "rows={} lower_bound={} proof={}", rows.certificate.num_rows,
      rows.certificate.lower_bound_rows, rows.certificate.bound.kind
  ));

  // 4. Bound, then search
  const IndexVector<SampleId, std::int64_t> routed_pairs = gather_routed_pairs(slice, comm);
  const ShardBound bound = max_shard_lower_bound(
      {padded, routed_pairs, pairs_of_layers(window.demand), aggregate.peak_bounds,
       options.topology, options.cost, rules, rows.certificate.num_rows}
  );
  const SearchOutput found = search_plan(
      {slice, options, padded, in_cells, rules, terms, aggregate.placement, before,
       first_fit.layout, rows.layout, bound.max_shard},
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
  plan.oversized = find_oversized(padded, capacity);
  plan.ended = found.ended;
  plan.migration_front = found.front;
  plan.rows = rows.certificate;
  plan.placement = found.placement;
  plan.layout = found.layout;
  const auto measure = [&](const CellLayout& layout, const Placement& placement) {
    return measure_policy(slice, padded, layout, placement, options, comm);
  };
  plan.baseline = measure(
      first_fit.layout,
      identity_placement(slice.shape.num_moe_layers(), slice.shape.num_experts, options.topology.ep)
  );
  plan.reorder = measure(first_fit.layout, aggregate.placement);
  plan.routepack = measure(plan.layout, plan.placement);
  plan.objective = plan.routepack.score;
  plan.lower_bound = settled_bound(bound, plan.objective, found.enumerated);
  plan.moved_experts = count_moved_experts(before, plan.placement);
  if (options.migration.bytes_per_expert > 0) {
    plan.moved_bytes = plan.moved_experts * options.migration.bytes_per_expert;
  }
  plan.digest = digest_plan(plan);
  agree_same(plan.digest, "the plan", comm);
  agree_on([&] { check_plan(plan, padded, rules); }, comm);
  log(fmt::format(
      "plan max_shard={:.6g} gap={:.3f}% digest={}", plan.objective.max_shard, 100.0 * plan.gap(),
      plan.digest
  ));
  return plan;
}

}  // namespace routepack
