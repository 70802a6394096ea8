#include "planner/search.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "planner/enumerate.hpp"
#include "planner/polish.hpp"
#include "planner/steps.hpp"

namespace routepack::planner {
namespace {

// From a start of its own each, a short anneal under the aggregate placement, a placement for the
// layout, a short anneal under that. The population goes on from the best.
void explore(
    const SearchContext& context, double share, Budget& budget, PlacedPopulation& population
) {
  const domain::Tuning::Search& tuning = context.plan.tuning().search;
  const Phase phase{"explore", share};
  const Placed aggregate = population.placed();
  const CellLayout first = population.best_layout();  // the start that the population has
  Best best(context.goal);
  for (int number = 0;
       number < tuning.num_explorations && !context.goal.is_met_by(population.best_score());
       ++number) {
    population.move_to(aggregate);
    population.start_over(
        number == 0 ? first : make_start(context.plan, population.problem(), ChainId{number})
    );
    anneal(context, phase, tuning.explore, budget, population);
    improve_placement(context, tuning.explore_placement, budget, population);
    anneal(context, phase, tuning.settle, budget, population);
    best.improve(population.best(), Tie::kLowerScore);
  }
  if (!best.is_empty()) {
    population.move_to(best.plan().placed);
    population.start_over(best.plan().layout);
  }
}

// In what is left, anneals and re-places the experts in turns.
Candidate run_turns(
    const SearchContext& context, double share, Budget& budget, PlacedPopulation& population
) {
  const domain::Tuning::Search& tuning = context.plan.tuning().search;
  const Phase phase{"anneal", share};
  const double left = 1.0 - tuning.num_explorations * (tuning.explore.share + tuning.settle.share);
  for (const domain::Tuning::Turn& turn : tuning.turns) {
    if (context.goal.is_met_by(population.best_score())) {
      break;
    }
    if (turn.share <= 0.0) {
      continue;
    }
    anneal(context, phase, {turn.share * left, turn.heat, turn.num_stages}, budget, population);
    improve_placement(context, tuning.turn_placement, budget, population);
  }
  return population.best();
}

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
    front.push_back({placement::kFrontFractions[n], best.moved_experts, best.max_shard});
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
      [](const objective::SearchScore& there, const objective::SearchScore& here) {
        return there.max_shard < here.max_shard;
      }
  );
  population.restart_from(layout);
}

// Collective. What other limits on moving experts would give, with `share` of the budget, from
// where `best` and the population are. A point within the terms that beats the plan, the price of
// moving counted in, becomes the best plan. Needs a current placement.
std::vector<MigrationPoint> trace_front(
    const SearchContext& context,
    double share,
    Budget& budget,
    PlacedPopulation& population,
    Best& best
) {
  const PlanContext& plan = context.plan;
  const domain::Tuning::Front& tuning = plan.tuning().front;
  const Placement& current = *plan.options.current_placement;
  const std::vector<std::int64_t> budgets = placement::front_budgets(current);
  const double started = budget.clock().seconds();
  LayoutMigration migration = make_migration(context, best.plan().layout);
  migration.trace(budget.seconds_of(tuning.trace_share * share));
  const std::vector<placement::MigrationChoice> choices = migration.choose(budgets);
  const auto found_of = [&](const Candidate& plan_found) {
    return Found{
        count_moved_experts(current, plan_found.placement()),
        cost_of(plan_found.score, context.goal)};
  };
  std::vector<Found> found = {found_of(best.plan())};
  // A point is annealed twice, with its experts placed anew in between.
  const Phase phase{"front", share};
  const domain::Tuning::Turn turn{
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

// The best plan of a tiny window, where all of them can be looked at. Not where moving has a limit
// or a price, or a front of limits is to be shown.
std::optional<SearchOutput> look_at_all(const PlanContext& plan, const comm::Communicator& node) {
  constexpr std::int64_t kMaxEntries = 1 << 20;  // of the whole demand, on every rank
  const WindowShape& shape = plan.slice.shape;
  const domain::Tuning::Enumeration& tuning = plan.tuning().enumeration;
  const auto num_samples = static_cast<std::int64_t>(plan.padded.size());
  if (num_samples > tuning.max_samples ||
      (plan.places_experts() && plan.options.current_placement) ||
      num_samples * shape.num_moe_layers() * shape.num_experts > kMaxEntries) {
    return std::nullopt;
  }
  const Placed placed = place(plan, node, plan.aggregate);
  const std::vector<std::uint32_t> demand = comm::all_gather(plan.slice.demand, plan.comm);
  std::optional<Enumerated> best = comm::agree_on(
      [&] {
        return enumerate_plans(
            {placed->problem(), placed->placement(), plan.before, plan.places_experts(), demand,
             tuning}
        );
      },
      plan.comm
  );
  if (!best) {
    return std::nullopt;
  }
  SearchOutput output;
  output.placement = std::move(best->placement);
  output.layout = deal_blocks(
      place(plan, node, output.placement)->problem(), best->layout, plan.tuning().aggregate
  );
  output.search = plan.options.search;
  output.ended = SearchEnd::kProved;
  output.enumerated = true;
  return output;
}

// What a search begins with.
struct Beginning {
  Goal goal;
  Budget budget;
  PlacedPopulation population;
};

// Collective.
Beginning begin_search(const PlanContext& plan, const comm::Communicator& node, int num_threads) {
  const base::Stopwatch clock;
  const domain::Tuning& tuning = plan.tuning();
  const auto num_workers =
      static_cast<int>(comm::all_reduce_sum(std::int64_t{num_threads}, plan.comm));
  const Placed aggregate = place(plan, node, plan.aggregate);
  const objective::SearchProblem& problem = aggregate->problem();
  const SearchOptions search = complete_options(plan.options.search, problem, tuning, num_workers);
  return {
      make_goal(plan, problem), Budget(search, plan.run.seconds_spent, clock, tuning),
      PlacedPopulation(
          aggregate, [&](ChainId chain) { return make_start(plan, problem, chain); },
          {search.seed, search.num_chains, num_threads, choose_simd(search)},
          choose_temperatures(search, problem, tuning, num_workers), tuning, plan.comm
      )};
}

SearchEnd end_of_search(const objective::SearchScore& best, const Goal& goal, bool timed) {
  if (best.max_shard <= goal.proved) {
    return SearchEnd::kProved;
  }
  if (goal.is_met_by(best)) {
    return SearchEnd::kGap;
  }
  return timed ? SearchEnd::kTime : SearchEnd::kBudget;
}

// The best plan, polished.
SearchOutput conclude(
    const SearchContext& context,
    const Candidate& best,
    const Budget& budget,
    const PlacedPopulation& population
) {
  const objective::SearchProblem& problem = best.placed->problem();
  SearchOutput output;
  output.placement = best.placement();
  output.layout = deal_blocks(problem, best.layout, context.plan.tuning().aggregate);
  output.search = budget.search();
  output.search.num_sweeps = population.sweeps_done();
  // Where all plans cost the same, any is the best.
  output.enumerated = layouts_are_alike(problem) && !context.plan.places_experts();
  output.ended = output.enumerated ? SearchEnd::kProved
                                   : end_of_search(best.score, context.goal, budget.is_timed());
  return output;
}

}  // namespace

SearchOutput search_plan(const PlanContext& plan) {
  const comm::Communicator node = plan.comm.split_by_node();
  if (std::optional<SearchOutput> best = look_at_all(plan, node)) {
    return std::move(*best);
  }
  const int num_threads = choose_threads(plan.options.search.num_threads, node);
  const random::Acceptance acceptance(
      comm::broadcast_value(random::Acceptance::make_table(), 0, plan.comm)
  );
  auto [goal, budget, population] = begin_search(plan, node, num_threads);
  const SearchContext context{plan, node, num_threads, acceptance, goal};
  const bool has_front = plan.options.current_placement.has_value() &&
                         plan.options.constraints.placement == PlacementChoice::kFree;
  const double front_share = has_front ? plan.tuning().front.share : 0.0;

  explore(context, 1.0 - front_share, budget, population);
  Best best(run_turns(context, 1.0 - front_share, budget, population), goal);
  std::vector<MigrationPoint> front;
  if (has_front) {
    front = trace_front(context, front_share, budget, population, best);
  }
  SearchOutput output = conclude(context, best.plan(), budget, population);
  output.front = std::move(front);
  return output;
}

}  // namespace routepack::planner
