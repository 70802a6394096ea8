#include "planner/steps.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "packing/keep_counts.hpp"
#include "packing/start_layout.hpp"
#include "planner/block_placement.hpp"

namespace routepack::planner {
namespace {

// Experts move as they like.
Placement anneal_placement(
    const SearchContext& context,
    const domain::Tuning::PlacementTurn& turn,
    const CellLayout& layout,
    Budget& budget,
    const PlacedPopulation& population
) {
  const double started = budget.clock().seconds();
  const PlanContext& plan = context.plan;
  const PlanOptions& options = plan.options;
  const std::int64_t chain_moves =
      budget.search().num_sweeps *
      annealing::moves_per_sweep(population.problem(), plan.tuning().population);
  const std::int64_t swaps =
      budget.swaps_per_layer(turn, chain_moves, plan.slice.shape.num_moe_layers(), plan.comm);
  Placement placement = refine_placement(
      plan.slice, layout, population.placement(), context.goal.current, options.topology,
      {swaps, options.search.seed, budget.next_placement(), context.num_threads,
       choose_simd(options.search), context.acceptance, plan.tuning().block_annealing},
      plan.comm
  );
  budget.note_swaps(started, swaps);
  return placement;
}

// Moving has a limit or a price.
Placement migrate(
    const SearchContext& context,
    const domain::Tuning::PlacementTurn& turn,
    const CellLayout& layout,
    Budget& budget
) {
  const double started = budget.clock().seconds();
  const PlanContext& plan = context.plan;
  const domain::Tuning::Migration& tuning = plan.tuning().migration;
  const std::vector<std::int64_t> budgets =
      migration_budgets(*plan.options.current_placement, plan.terms, tuning);
  LayoutMigration migration = make_migration(context, layout);
  migration.trace(budget.seconds_of(tuning.trace_share));
  const std::vector<placement::MigrationChoice> choices = migration.choose(budgets);
  const placement::MigrationChoice& choice = cheapest(choices, plan.terms);
  if (!budget.affords_another(started, turn.time_share, plan.comm)) {
    return choice.placement;
  }
  // No layer has as many pairs: above it nothing pays for a move.
  constexpr double kMostPrice = 8'589'934'592.0;
  const auto asked = static_cast<std::int64_t>(std::min(plan.terms.price_pairs, kMostPrice));
  migration.search_near(
      choice.placement, std::max(migration.price_at(choice.moved_experts), asked),
      budget.next_placement()
  );
  return cheapest(migration.choose(budgets), plan.terms).placement;
}

Placement place_for_layout(
    const SearchContext& context,
    const domain::Tuning::PlacementTurn& turn,
    const CellLayout& layout,
    Budget& budget,
    const PlacedPopulation& population
) {
  const double started = budget.clock().seconds();
  const bool is_free = context.plan.terms.is_free;
  if (!is_free && !budget.has_time_to_place(context.plan.comm)) {
    return population.placement();
  }
  Placement placement = is_free ? anneal_placement(context, turn, layout, budget, population)
                                : migrate(context, turn, layout, budget);
  budget.note_placement(started);
  return placement;
}

}  // namespace

Placed place(const PlanContext& plan, const comm::Communicator& node, Placement placement) {
  return std::make_shared<const PlacedWindow>(
      plan.slice, plan.padded, plan.options, plan.rows.layout.num_rows, std::move(placement), node,
      plan.comm
  );
}

CellLayout make_start(
    const PlanContext& plan, const objective::SearchProblem& problem, ChainId chain
) {
  const CellLayout& packed = plan.rows.layout;
  if (chain == ChainId{0} && plan.first_fit.num_rows == packed.num_rows &&
      packing::find_count_fault(plan.first_fit, plan.rules).empty()) {
    return plan.first_fit;
  }
  constexpr std::array<packing::StartKind, 4> kKinds = {
      packing::StartKind::kKarmarkarKarp, packing::StartKind::kPacked,
      packing::StartKind::kShuffledFit, packing::StartKind::kRandomBestFit};
  packing::StartProblem start{
      plan.in_cells,
      plan.options.cost.capacity_tokens,
      plan.options.topology,
      packed.num_rows,
      IndexVector<SampleId, std::int64_t>{plan.padded.size(), 0},
      packed,
      plan.tuning().starts};
  for (const SampleId sample : ids<SampleId>(plan.padded.size())) {
    for (const std::int64_t attention : problem.attention_of(sample)) {
      start.attention_work[sample] += attention;
    }
  }
  const auto number = static_cast<std::uint32_t>(chain.value());
  const std::uint64_t seed = plan.options.search.seed;
  CellLayout layout = packing::make_start_layout(
      kKinds[number % kKinds.size()], start, {seed, random::Purpose::kStarts, number}
  );
  if (!plan.rules.limit_counts()) {
    return layout;
  }
  const random::Stream repairs{seed, random::Purpose::kRowCounts, number};
  return packing::keep_counts(
             layout, plan.in_cells, plan.rules, plan.options.topology, repairs, plan.tuning().counts
  )
      .value_or(packed);
}

bool layouts_are_alike(const objective::SearchProblem& problem) {
  return problem.num_cells() == 1 ||
         (problem.num_blocks() == 1 && problem.num_samples() == problem.num_cells());
}

void anneal(
    const SearchContext& context,
    const Phase& phase,
    const domain::Tuning::Turn& turn,
    Budget& budget,
    PlacedPopulation& population
) {
  annealing::Round round = budget.spend(turn.share * phase.share);
  if (layouts_are_alike(population.problem())) {
    return;
  }
  round.enough = context.goal.enough;
  const PlanObserver& observer = context.plan.observer;
  const double bound = context.plan.bound.max_shard;
  population.anneal(turn, round, budget.clock(), [&](const annealing::StageReport& stage) {
    if (observer.progress) {
      observer.progress(
          {phase.name, stage.stage, stage.num_stages, stage.temperature, stage.best,
           bound > 0.0 ? stage.best / bound - 1.0 : 0.0, stage.moves_per_second,
           budget.clock().seconds()}
      );
    }
  });
}

void improve_placement(
    const SearchContext& context,
    const domain::Tuning::PlacementTurn& turn,
    Budget& budget,
    PlacedPopulation& population
) {
  const CellLayout layout = population.best_layout();
  if (context.plan.places_experts() && !context.goal.is_met_by(population.best_score())) {
    const Placed before = population.placed();
    const Placed offered = place(
        context.plan, context.node, place_for_layout(context, turn, layout, budget, population)
    );
    population.offer(
        offered,
        [&](const objective::SearchScore& there, const objective::SearchScore& here) {
          return gains({there, offered->placement()}, {here, before->placement()}, context.goal);
        }
    );
  }
  population.restart_from(layout);
}

LayoutMigration make_migration(const SearchContext& context, const CellLayout& layout) {
  const PlanContext& plan = context.plan;
  return LayoutMigration(
      plan.slice, layout, plan.options, plan.tuning(), context.num_threads, plan.comm
  );
}

}  // namespace routepack::planner
