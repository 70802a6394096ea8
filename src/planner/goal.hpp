// What a search aims at, and the one rule by which a plan takes the place of another.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "planner/context.hpp"
#include "planner/placed_population.hpp"

namespace routepack::planner {

// All in the units of the search problem, which are the same under every placement, unless said.
struct Goal {
  std::int64_t proved = 0;           // max_shard that is at the lower bound, rounding allowed for
  std::int64_t enough = INT64_MIN;   // max_shard that ends the search
  std::int64_t reorder = INT64_MAX;  // max_shard of that policy, where it has as many rows
  double units_per_cost = 1.0;
  double price = 0.0;                  // of a moved expert, cost units of max_shard
  const Placement* current = nullptr;  // moves count against it; null: they have no price

  // As good as it has to be: at the bound, or within the target gap.
  [[nodiscard]] bool is_met_by(const objective::SearchScore& best) const {
    return best.max_shard <= enough;
  }
};

// `problem` is that of the aggregate's placement.
[[nodiscard]] Goal make_goal(const PlanContext& context, const objective::SearchProblem& problem);

// The score of a layout under a placement.
struct Priced {
  const objective::SearchScore& score;
  const Placement& placement;
};

// max_shard, in cost units.
[[nodiscard]] double cost_of(const objective::SearchScore& score, const Goal& goal);
// The same and the price of moving.
[[nodiscard]] double total_of(const Priced& plan, const Goal& goal);

// Whether a plan is worth changing to: less in total, and no plan that was at least as good as
// `reorder` gets worse than that.
[[nodiscard]] bool gains(const Priced& plan, const Priced& old, const Goal& goal);

// Of two plans with the same total.
enum class Tie { kFirst, kLowerScore };

// The best plan so far.
class Best {
 public:
  explicit Best(const Goal& goal) : goal_(&goal) {}
  Best(Candidate first, const Goal& goal) : goal_(&goal), plan_(std::move(first)) {}

  [[nodiscard]] bool is_empty() const { return !plan_; }
  [[nodiscard]] const Candidate& plan() const { return *plan_; }
  // Takes the first candidate, one that gains, and by `tie` one that is as good.
  void improve(Candidate candidate, Tie tie);

 private:
  const Goal* goal_;
  std::optional<Candidate> plan_;
};

}  // namespace routepack::planner
