#include "planner/goal.hpp"

#include <algorithm>
#include <utility>

#include "objective/search_state.hpp"

namespace routepack::planner {
namespace {

// The largest max_shard, in units, that lies within `gap` of the lower bound.
std::int64_t units_within(double gap, double lower_bound, double units_per_cost) {
  constexpr double kRounding = 1e-8;  // figures recomputed from the window agree to about that
  constexpr double kMost = 9e18;      // fits 64 bits
  const double cost = lower_bound * (1.0 + std::max(gap, kRounding));
  return static_cast<std::int64_t>(std::min(cost * units_per_cost, kMost));
}

}  // namespace

Goal make_goal(const PlanContext& context, const objective::SearchProblem& problem) {
  const PlanOptions& options = context.options;
  const double bound = context.bound.max_shard;
  Goal goal;
  goal.units_per_cost = problem.units_per_cost;
  goal.proved = units_within(0.0, bound, problem.units_per_cost);
  if (context.terms.price_pairs <= 0.0) {  // else the bound of max_shard alone is no goal
    goal.enough = units_within(options.search.target_gap, bound, problem.units_per_cost);
  }
  if (context.first_fit.num_rows == context.rows.layout.num_rows && !context.rules.limit_counts()) {
    goal.reorder =
        objective::SearchState(problem, context.first_fit, SimdLevel::kPortable).score().max_shard;
  }
  if (options.current_placement) {
    goal.current = &*options.current_placement;
    goal.price =
        options.migration.cost_per_expert / static_cast<double>(options.migration.horizon_steps);
  }
  return goal;
}

double cost_of(const objective::SearchScore& score, const Goal& goal) {
  return static_cast<double>(score.max_shard) / goal.units_per_cost;
}

double total_of(const Priced& plan, const Goal& goal) {
  const double cost = cost_of(plan.score, goal);
  return goal.current == nullptr
             ? cost
             : cost + goal.price *
                          static_cast<double>(count_moved_experts(*goal.current, plan.placement));
}

bool gains(const Priced& plan, const Priced& old, const Goal& goal) {
  return plan.score.max_shard <= std::max(old.score.max_shard, goal.reorder) &&
         total_of(plan, goal) < total_of(old, goal);
}

void Best::improve(Candidate candidate, Tie tie) {
  if (plan_) {
    const Priced offered{candidate.score, candidate.placement()};
    const Priced held{plan_->score, plan_->placement()};
    const bool is_tie = tie == Tie::kLowerScore && offered.score < held.score &&
                        total_of(offered, *goal_) == total_of(held, *goal_);
    if (!is_tie && !gains(offered, held, *goal_)) {
      return;
    }
  }
  plan_ = std::move(candidate);
}

}  // namespace routepack::planner
