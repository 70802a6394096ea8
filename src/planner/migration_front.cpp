// The trade between moving experts and finishing early: a member of PlanSearch of its own.
#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "planner/layout_migration.hpp"
#include "planner/plan_search.hpp"

namespace routepack {
namespace {

constexpr double kTraceShare = 0.4;  // of the front's share of the budget

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

}  // namespace

void PlanSearch::settle_placement(std::int64_t budget, std::int64_t price) {
  const CellLayout layout = population_.best_layout();
  LayoutMigration near(input_.slice, layout, input_.options, threads_, comm_);
  near.search_near(placed_->placement(), price, placements_++);
  Placed offered = place(near.choose(std::array{budget}).front().placement);
  const SearchScore before = population_.best_score();
  population_.rebase(offered->problem());
  if (population_.best_score().max_shard < before.max_shard) {
    placed_.swap(offered);
  } else {
    population_.rebase(placed_->problem());
  }
  population_.restart_from(layout);
}

std::vector<MigrationPoint> PlanSearch::trace_front(double share) {
  phase_ = "front";
  const Placement& current = *input_.options.current_placement;
  const std::vector<std::int64_t> budgets = front_budgets(current);
  const double started = clock_.seconds();
  LayoutMigration migration(input_.slice, layout_, input_.options, threads_, comm_);
  migration.trace(seconds_of(kTraceShare * share));
  const std::vector<MigrationChoice> choices = migration.choose(budgets);
  SearchScore best_score = population_.best_score();
  CellLayout best_layout = layout_;
  std::vector<Found> found = {
      {count_moved_experts(current, placed_->placement()), cost_of(best_score)}};
  Placed best = std::move(placed_);  // the population's problem, until the first point
  // A point is annealed twice, with its experts placed anew in between.
  const Turn turn{0.5 / static_cast<double>(choices.size()), 0.02, 6};
  const bool settles = affords_another(started, turn.budget * share);
  for (const std::size_t n : order_of_points(budgets, input_.terms.max_moved)) {
    const CellLayout start = population_.best_layout();
    move_to(place(choices[n].placement));
    population_.start_over(start);
    anneal(turn, share);
    if (settles) {
      settle_placement(budgets[n], migration.price_at(choices[n].moved_experts));
    }
    anneal(turn, share);
    const SearchScore score = population_.best_score();
    found.push_back({count_moved_experts(current, placed_->placement()), cost_of(score)});
    if (found.back().moved_experts <= input_.terms.max_moved &&
        gains(score, placed_->placement(), best_score, best->placement())) {
      best_layout = population_.best_layout();
      best_score = score;
      best = placed_;
    }
  }
  move_to(std::move(best));
  layout_ = std::move(best_layout);
  return front_of(found, budgets);
}

}  // namespace routepack
