// The trade between moving experts and finishing early: a member of PlanSearch of its own.
#include <algorithm>
#include <tuple>
#include <utility>

#include "planner/plan_search.hpp"

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

}  // namespace

std::vector<MigrationPoint> PlanSearch::trace_front(double share) {
  phase_ = "front";
  const Placement& current = *input_.options.current_placement;
  const CellLayout start = layout_;
  const std::vector<std::int64_t> budgets = front_budgets(current);
  std::vector<MigrationChoice> choices =
      migrations_for_layout(input_.slice, start, current, input_.options, budgets, threads_, comm_);
  SearchScore best_score = population_.best_score();
  std::vector<Found> found = {
      {count_moved_experts(current, placed_->placement()), cost_of(best_score)}};
  Placed held;  // the population's problem lives here
  for (MigrationChoice& choice : choices) {
    Placed point = place(std::move(choice.placement));
    population_.rebase(point->problem());
    population_.start_over(start);
    held = std::move(point);
    anneal({1.0 / static_cast<double>(choices.size()), 0.02, 8}, share);
    const SearchScore score = population_.best_score();
    found.push_back({choice.moved_experts, cost_of(score)});
    if (choice.moved_experts <= input_.terms.max_moved &&
        gains(score, held->placement(), best_score, placed_->placement())) {
      layout_ = population_.best_layout();
      best_score = score;
      placed_.swap(held);
      population_.rebase(placed_->problem());
    }
  }
  population_.rebase(placed_->problem());
  return front_of(found, budgets);
}

}  // namespace routepack
