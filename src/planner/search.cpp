#include "planner/search.hpp"

#include <optional>
#include <utility>

#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "planner/enumerate.hpp"
#include "planner/front.hpp"
#include "planner/polish.hpp"
#include "planner/steps.hpp"

namespace routepack {
namespace {

// From a start of its own each, a short anneal under the aggregate placement, a placement for the
// layout, a short anneal under that. The population goes on from the best.
void explore(
    const SearchContext& context, double share, Budget& budget, PlacedPopulation& population
) {
  const Tuning::Search& tuning = context.plan.tuning().search;
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
  const Tuning::Search& tuning = context.plan.tuning().search;
  const Phase phase{"anneal", share};
  const double left = 1.0 - tuning.num_explorations * (tuning.explore.share + tuning.settle.share);
  for (const Tuning::Turn& turn : tuning.turns) {
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

// The best plan of a tiny window, where all of them can be looked at. Not where moving has a limit
// or a price, or a front of limits is to be shown.
std::optional<SearchOutput> look_at_all(const PlanContext& plan, const Communicator& node) {
  constexpr std::int64_t kMaxEntries = 1 << 20;  // of the whole demand, on every rank
  const WindowShape& shape = plan.slice.shape;
  const Tuning::Enumeration& tuning = plan.tuning().enumeration;
  const auto num_samples = static_cast<std::int64_t>(plan.padded.size());
  if (num_samples > tuning.max_samples ||
      (plan.places_experts() && plan.options.current_placement) ||
      num_samples * shape.num_moe_layers() * shape.num_experts > kMaxEntries) {
    return std::nullopt;
  }
  const Placed placed = place(plan, node, plan.aggregate);
  const std::vector<std::uint32_t> demand = all_gather(plan.slice.demand, plan.comm);
  std::optional<Enumerated> best = agree_on(
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
  output.layout = deal_blocks(place(plan, node, output.placement)->problem(), best->layout);
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
Beginning begin_search(const PlanContext& plan, const Communicator& node, int num_threads) {
  const Stopwatch clock;
  const Tuning& tuning = plan.tuning();
  const auto num_workers = static_cast<int>(all_reduce_sum(std::int64_t{num_threads}, plan.comm));
  const Placed aggregate = place(plan, node, plan.aggregate);
  const SearchProblem& problem = aggregate->problem();
  const SearchOptions search = complete_options(plan.options.search, problem, tuning, num_workers);
  return {
      make_goal(plan, problem), Budget(search, plan.run.seconds_spent, clock, tuning),
      PlacedPopulation(
          aggregate, [&](ChainId chain) { return make_start(plan, problem, chain); },
          {search.seed, search.num_chains, num_threads, choose_simd(search)},
          choose_temperatures(search, problem, tuning, num_workers), tuning, plan.comm
      )};
}

SearchEnd end_of_search(const SearchScore& best, const Goal& goal, bool timed) {
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
  const SearchProblem& problem = best.placed->problem();
  SearchOutput output;
  output.placement = best.placement();
  output.layout = deal_blocks(problem, best.layout);
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
  const Communicator node = plan.comm.split_by_node();
  if (std::optional<SearchOutput> best = look_at_all(plan, node)) {
    return std::move(*best);
  }
  const int num_threads = choose_threads(plan.options.search.num_threads, node);
  const Acceptance acceptance(broadcast_value(Acceptance::make_table(), 0, plan.comm));
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

}  // namespace routepack
