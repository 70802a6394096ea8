#include "planner/aggregate.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "placement/aggregate/place_experts.hpp"

namespace routepack::planner {
namespace {

AggregatePlacement keep_placement(Placement placement, const domain::Demand& demand) {
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

// Of the ways from the current placement, by the sum of the layers' peaks.
Placement migrate_for_demand(
    const domain::Demand& demand,
    const PlanOptions& options,
    const MigrationTerms& terms,
    const domain::Tuning& tuning
) {
  const Placement& current = *options.current_placement;
  IndexVector<MoeLayer, placement::SwapTrajectory> trajectories{current.layers.size()};
  for (const MoeLayer layer : ids<MoeLayer>(current.layers.size())) {
    const random::Stream random{
        options.search.seed, random::Purpose::kPlacement,
        static_cast<std::uint32_t>(layer.value())};
    trajectories[layer] = placement::peak_trajectory(
        demand.of(layer), current.ep, current.layers[layer],
        {.tuning = tuning.aggregate, .num_threads = 1}, random
    );
  }
  const std::vector<std::int64_t> budgets = migration_budgets(current, terms, tuning.migration);
  return cheapest(placement::choose_migrations(trajectories, current, budgets), terms).placement;
}

}  // namespace

Placement placement_before(const PlanOptions& options, const WindowShape& window) {
  return options.current_placement.value_or(
      identity_placement(window.num_moe_layers(), window.num_experts, options.topology.ep)
  );
}

AggregatePlacement place_aggregate(
    const domain::Demand& demand,
    const PlanOptions& options,
    const MigrationTerms& terms,
    const Placement& before,
    const domain::Tuning& tuning,
    const comm::Communicator& comm
) {
  if (options.constraints.placement != PlacementChoice::kFree) {
    return keep_placement(before, demand);
  }
  const Placement* current = options.current_placement ? &*options.current_placement : nullptr;
  const placement::PlacementProblem problem{
      demand.pairs, demand.num_layers, demand.num_experts, options.topology.ep, current};
  placement::PlacementResult placed =
      placement::place_experts(problem, {.tuning = tuning.aggregate}, options.search.seed, comm);
  return {
      terms.is_free ? std::move(placed.placement)
                    : migrate_for_demand(demand, options, terms, tuning),
      placed.lower_bound.values()};
}

}  // namespace routepack::planner
