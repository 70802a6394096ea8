// The trade between moving experts and finishing early: a member of PlanSearch of its own.
#include <algorithm>
#include <limits>
#include <utility>

#include "planner/plan_search.hpp"

namespace routepack {

std::vector<MigrationPoint> PlanSearch::trace_front(double share) {
  phase_ = "front";
  const Placement& current = *input_.options.current_placement;
  const CellLayout start = layout_;
  const SearchScore plan_score = population_.best_score();
  const std::int64_t plan_moved = count_moved_experts(current, placed_->placement());
  const std::vector<std::int64_t> budgets = front_budgets(current);
  std::vector<MigrationChoice> choices =
      migrations_for_layout(input_.slice, start, current, input_.options, budgets, threads_, comm_);
  SearchScore best_score = plan_score;
  double lowest = std::numeric_limits<double>::infinity();
  std::vector<MigrationPoint> front;
  Placed held;  // the population's problem lives here
  for (std::size_t n = 0; n < choices.size(); ++n) {
    const std::int64_t moved = choices[n].moved_experts;
    Placed point = place(std::move(choices[n].placement));
    population_.rebase(point->problem());
    population_.start_over(start);
    held = std::move(point);
    anneal({1.0 / static_cast<double>(choices.size()), 0.02, 8}, share);
    const SearchScore score = population_.best_score();
    // Moving less than allowed is allowed, so the front never rises.
    lowest = std::min(lowest, cost_of(score));
    if (plan_moved <= budgets[n]) {
      lowest = std::min(lowest, cost_of(plan_score));
    }
    front.push_back({kFrontFractions[n], moved, lowest});
    if (moved <= input_.terms.max_moved && score < best_score &&
        cost_of(score) + price_of(held->placement()) <
            cost_of(best_score) + price_of(placed_->placement())) {
      layout_ = population_.best_layout();
      best_score = score;
      placed_.swap(held);
      population_.rebase(placed_->problem());
    }
  }
  population_.rebase(placed_->problem());
  return front;
}

}  // namespace routepack
