#include "planner/aggregate.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "placement/aggregate/place_experts.hpp"

namespace routepack {
namespace {

std::vector<std::int64_t> flatten(const Demand& demand) {
  std::vector<std::int64_t> flat;
  for (const ExpertDemand& layer : demand) {
    flat.insert(flat.end(), layer.begin(), layer.end());
  }
  return flat;
}

AggregatePlacement keep_placement(Placement placement, const Demand& demand) {
  AggregatePlacement kept;
  for (const MoeLayer layer : ids<MoeLayer>(demand.size())) {
    std::vector<std::int64_t> load(static_cast<std::size_t>(placement.ep), 0);
    for (const ExpertId expert : ids<ExpertId>(demand[layer].size())) {
      load[placement.ep_rank_of(layer, expert).offset()] += demand[layer][expert];
    }
    kept.peak_bounds.push_back(*std::ranges::max_element(load));
  }
  kept.placement = std::move(placement);
  return kept;
}

// Of the ways from the current placement, by the sum of the layers' peaks. `demand` [L, E].
Placement migrate_for_demand(
    const std::vector<std::int64_t>& demand,
    const PlanOptions& options,
    const MigrationTerms& terms,
    const Tuning::Migration& tuning
) {
  const Placement& current = *options.current_placement;
  const auto experts = static_cast<std::size_t>(current.num_experts);
  IndexVector<MoeLayer, SwapTrajectory> trajectories{current.layers.size()};
  for (const MoeLayer layer : ids<MoeLayer>(current.layers.size())) {
    const Stream random{
        options.search.seed, Purpose::kPlacement, static_cast<std::uint32_t>(layer.value())};
    trajectories[layer] = peak_trajectory(
        std::span{demand}.subspan(layer.offset() * experts, experts), current.ep,
        current.layers[layer], {.num_threads = 1}, random
    );
  }
  const std::vector<std::int64_t> budgets = migration_budgets(current, terms, tuning);
  return cheapest(choose_migrations(trajectories, current, budgets), terms).placement;
}

}  // namespace

Placement placement_before(const PlanOptions& options, const WindowShape& window) {
  return options.current_placement.value_or(
      identity_placement(window.num_moe_layers(), window.num_experts, options.topology.ep)
  );
}

AggregatePlacement place_aggregate(
    const Demand& demand,
    const WindowShape& window,
    const PlanOptions& options,
    const MigrationTerms& terms,
    const Placement& before,
    const Tuning::Migration& tuning,
    const Communicator& comm
) {
  if (options.constraints.placement != PlacementChoice::kFree) {
    return keep_placement(before, demand);
  }
  const std::vector<std::int64_t> flat = flatten(demand);
  const Placement* current = options.current_placement ? &*options.current_placement : nullptr;
  const PlacementProblem problem{
      flat, window.num_moe_layers(), window.num_experts, options.topology.ep, current};
  PlacementResult placed = place_experts(problem, {}, options.search.seed, comm);
  return {
      terms.is_free ? std::move(placed.placement)
                    : migrate_for_demand(flat, options, terms, tuning),
      placed.lower_bound.values()};
}

}  // namespace routepack
