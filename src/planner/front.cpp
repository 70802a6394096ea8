#include "planner/front.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace routepack {
namespace {

struct Found {
  std::int64_t moved_experts = 0;
  double max_shard = 0.0;
};

// Of each limit the best that respects it. Moving less than allowed is allowed, so the front never
// rises. `found` holds the current placement itself, so there is always one.
std::vector<MigrationPoint> front_of(
    const std::vector<Found>& found, const std::vector<std::int64_t>& budgets
) {
  std::vector<MigrationPoint> front;
  for (std::size_t n = 0; n < budgets.size(); ++n) {
    const auto better = [&](const Found& x, const Found& y) {
      const bool x_over = x.moved_experts > budgets[n];
      const bool y_over = y.moved_experts > budgets[n];
      return std::tie(x_over, x.max_shard, x.moved_experts) <
             std::tie(y_over, y.max_shard, y.moved_experts);
    };
    const Found& best = *std::min_element(found.begin(), found.end(), better);
    front.push_back({kFrontFractions[n], best.moved_experts, best.max_shard});
  }
  return front;
}

// The limits in the order of the search, as positions in `budgets`: from that of the plan down,
// then up. Neighbours have similar layouts.
std::vector<std::size_t> order_of_points(
    const std::vector<std::int64_t>& budgets, std::int64_t max_moved
) {
  const auto above = std::upper_bound(budgets.begin(), budgets.end(), max_moved);
  const auto below = static_cast<std::size_t>(above - budgets.begin());
  std::vector<std::size_t> order;
  for (std::size_t n = below; n > 0; --n) {
    order.push_back(n - 1);
  }
  for (std::size_t n = below; n < budgets.size(); ++n) {
    order.push_back(n);
  }
  return order;
}

// Goes on with experts placed for the best layout at that price, at most `max_moved` of them moved,
// if that lowers max_shard. All chains continue from the layout.
void settle_placement(
    const SearchContext& context,
    std::int64_t max_moved,
    std::int64_t price,
    Budget& budget,
    PlacedPopulation& population
) {
  const CellLayout layout = population.best_layout();
  LayoutMigration near = make_migration(context, layout);
  near.search_near(population.placement(), price, budget.next_placement());
  population.offer(
      place(context.plan, context.node, near.choose(std::array{max_moved}).front().placement),
      [](const SearchScore& there, const SearchScore& here) {
        return there.max_shard < here.max_shard;
      }
  );
  population.restart_from(layout);
}

}  // namespace

std::vector<MigrationPoint> trace_front(
    const SearchContext& context,
    double share,
    Budget& budget,
    PlacedPopulation& population,
    Best& best
) {
  const PlanContext& plan = context.plan;
  const Tuning::Front& tuning = plan.tuning().front;
  const Placement& current = *plan.options.current_placement;
  const std::vector<std::int64_t> budgets = front_budgets(current);
  const double started = budget.clock().seconds();
  LayoutMigration migration = make_migration(context, best.plan().layout);
  migration.trace(budget.seconds_of(tuning.trace_share * share));
  const std::vector<MigrationChoice> choices = migration.choose(budgets);
  const auto found_of = [&](const Candidate& plan_found) {
    return Found{
        count_moved_experts(current, plan_found.placement()),
        cost_of(plan_found.score, context.goal)};
  };
  std::vector<Found> found = {found_of(best.plan())};
  // A point is annealed twice, with its experts placed anew in between.
  const Phase phase{"front", share};
  const Tuning::Turn turn{
      0.5 / static_cast<double>(choices.size()), tuning.heat, tuning.num_stages};
  const bool settles = budget.affords_another(started, turn.share * share, plan.comm);
  for (const std::size_t n : order_of_points(budgets, plan.terms.max_moved)) {
    const CellLayout start = population.best_layout();
    population.move_to(place(plan, context.node, choices[n].placement));
    population.start_over(start);
    anneal(context, phase, turn, budget, population);
    if (settles) {
      const std::int64_t price = migration.price_at(choices[n].moved_experts);
      settle_placement(context, budgets[n], price, budget, population);
    }
    anneal(context, phase, turn, budget, population);
    Candidate point = population.best();
    found.push_back(found_of(point));
    if (found.back().moved_experts <= plan.terms.max_moved) {
      best.improve(std::move(point), Tie::kFirst);
    }
  }
  return front_of(found, budgets);
}

}  // namespace routepack
