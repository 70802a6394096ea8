#include "planner/migration.hpp"

#include <algorithm>
#include <cmath>

namespace routepack {

MigrationTerms migration_terms(const PlanOptions& options, const WindowShape& window) {
  const MigrationOptions& asked = options.migration;
  const std::int64_t all = std::int64_t{window.num_moe_layers()} * window.num_experts;
  MigrationTerms terms;
  terms.max_moved = static_cast<std::int64_t>(
      std::floor(asked.max_moved_fraction * static_cast<double>(all) + 1e-9)
  );
  if (options.cost.expert_weight > 0.0) {
    terms.price_pairs = asked.cost_per_expert / static_cast<double>(asked.horizon_steps) *
                        static_cast<double>(options.cost.capacity_tokens) * options.topology.edp() /
                        options.cost.expert_weight;
  }
  if (options.cost.expert_weight <= 0.0 && asked.cost_per_expert > 0.0) {
    terms.max_moved = 0;  // nothing pays for a move
  }
  terms.is_free = terms.max_moved >= all && terms.price_pairs <= 0.0;
  return terms;
}

std::vector<std::int64_t> migration_budgets(const Placement& current, const MigrationTerms& terms) {
  std::vector<std::int64_t> budgets = front_budgets(current);
  std::erase_if(budgets, [&](std::int64_t budget) { return budget > terms.max_moved; });
  constexpr int kSteps = 40;  // of the price's scale
  if (terms.price_pairs > 0.0) {
    for (int step = 1; step <= kSteps; ++step) {
      budgets.push_back(terms.max_moved * step / kSteps);
    }
  }
  budgets.push_back(terms.max_moved);
  std::sort(budgets.begin(), budgets.end());
  budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
  return budgets;
}

const MigrationChoice& cheapest(
    const std::vector<MigrationChoice>& choices, const MigrationTerms& terms
) {
  const auto cost = [&](const MigrationChoice& choice) {
    return static_cast<double>(choice.objective) +
           terms.price_pairs * static_cast<double>(choice.moved_experts);
  };
  const auto better = [&](const MigrationChoice& x, const MigrationChoice& y) {
    return cost(x) != cost(y) ? cost(x) < cost(y) : x.moved_experts < y.moved_experts;
  };
  return *std::min_element(choices.begin(), choices.end(), better);
}

Placement migration_for_demand(
    const std::vector<std::int64_t>& demand,
    const Placement& current,
    const PlanOptions& options,
    const MigrationTerms& terms
) {
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
  return cheapest(
             choose_migrations(trajectories, current, migration_budgets(current, terms)), terms
  )
      .placement;
}

}  // namespace routepack
