#include "planner/plan_search.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "comm/collectives.hpp"
#include "packing/keep_counts.hpp"
#include "packing/start_layout.hpp"
#include "planner/layout_migration.hpp"
#include "planner/polish.hpp"
#include "planner/row_placement.hpp"

namespace routepack {
namespace {

// Explorations: from a start of its own each, a short anneal under the aggregate placement, a
// placement for the layout, a short anneal under that. Which placement the search ends in is
// decided here, and matters more than how long it then anneals.
constexpr int kNumExplorations = 4;
constexpr double kExploreShare = 0.05;
constexpr double kSettleShare = 0.03;
constexpr Turn kExplore = {kExploreShare, 0.3, 12};
constexpr Turn kSettle = {kSettleShare, 0.05, 12};
constexpr PlacementTurn kExplorePlacement = {10'000, 0.01};
// Then, in what is left, from the best of them: a long anneal, and short ones that are only as hot
// as it takes to settle into the placement before.
constexpr std::array<Turn, 4> kTurns = {
    {{0.55, 0.3, 32}, {0.15, 0.02, 8}, {0.15, 0.01, 8}, {0.15, 0.005, 8}}};
constexpr PlacementTurn kTurnPlacement = {40'000, 0.03};
constexpr std::int64_t kFirstMovesPerLayer = 5'000;  // with a time limit, to learn the speed
constexpr std::int64_t kFewestMovesPerLayer = 500;
constexpr std::int64_t kMostMovesPerLayer = 400'000;
// Of a time limit, for the swap trajectories of one placement with limited moves.
constexpr double kTraceShare = 0.1;
// Of a time limit, for what follows the search: figures, checks and writing.
constexpr double kShareAfterSearch = 0.03;

// Figures that are recomputed from the window and the search's integers agree to about that.
constexpr double kRounding = 1e-8;

// The largest max_shard, in units, that lies within `gap` of the lower bound.
std::int64_t units_within(double gap, const SearchInput& input, const SearchProblem& problem) {
  constexpr double kMost = 9e18;  // fits 64 bits
  const double cost = input.lower_bound * (1.0 + std::max(gap, kRounding));
  return static_cast<std::int64_t>(std::min(cost * problem.units_per_cost, kMost));
}

// Whether every layout costs the same: a single cell, or a single row and shard of one sample a
// cell.
bool layouts_are_alike(const SearchProblem& problem) {
  return problem.num_cells() == 1 ||
         (problem.num_blocks() == 1 && problem.num_samples() == problem.num_cells());
}

bool starts_from_first_fit(const SearchInput& input) {
  return input.first_fit.num_rows == input.packed.num_rows &&
         find_count_fault(input.first_fit, input.rules).empty();
}

std::int64_t max_shard_of_reorder(const SearchInput& input, const SearchProblem& problem) {
  return input.first_fit.num_rows == input.packed.num_rows && !input.rules.limit_counts()
             ? SearchState(problem, input.first_fit, SimdLevel::kPortable).score().max_shard
             : INT64_MAX;
}

// Chain 0 starts from first fit where it has the rows, the others from the kinds in turn.
CellLayout make_start(const SearchInput& input, const SearchProblem& problem, ChainId chain) {
  if (chain == ChainId{0} && starts_from_first_fit(input)) {
    return input.first_fit;
  }
  constexpr std::array<StartKind, 4> kKinds = {
      StartKind::kKarmarkarKarp, StartKind::kPacked, StartKind::kShuffledFit,
      StartKind::kRandomBestFit};
  StartProblem start{
      input.in_cells,
      input.options.cost.capacity_tokens,
      input.options.topology,
      input.packed.num_rows,
      IndexVector<SampleId, std::int64_t>{input.padded.size(), 0},
      input.packed};
  for (const SampleId sample : ids<SampleId>(input.padded.size())) {
    for (const std::int64_t attention : problem.attention_of(sample)) {
      start.attention_work[sample] += attention;
    }
  }
  const auto kind = static_cast<std::size_t>(chain.value()) % kKinds.size();
  const Stream random{
      input.options.search.seed, Purpose::kStarts, static_cast<std::uint32_t>(chain.value())};
  CellLayout layout = make_start_layout(kKinds[kind], start, random);
  if (!input.rules.limit_counts()) {
    return layout;
  }
  const Stream repairs{
      input.options.search.seed, Purpose::kRowCounts, static_cast<std::uint32_t>(chain.value())};
  return keep_counts(layout, input.in_cells, input.rules, input.options.topology, repairs)
      .value_or(input.packed);
}

}  // namespace

PlanSearch::PlanSearch(
    const SearchInput& input, const PlanObserver& observer, const Communicator& comm
)
    : input_(input),
      observer_(observer),
      comm_(comm),
      node_(comm.split_by_node()),
      threads_(choose_threads(input.options.search.num_threads, node_)),
      acceptance_(broadcast_value(Acceptance::make_table(), 0, comm)),
      placed_(place(input.placement)),
      proved_(units_within(0.0, input, placed_->problem())),
      // With a price on moving, the bound of max_shard alone is no goal.
      enough_(
          input.terms.price_pairs > 0.0
              ? INT64_MIN
              : units_within(input.options.search.target_gap, input, placed_->problem())
      ),
      reorder_(max_shard_of_reorder(input, placed_->problem())),
      search_(complete_options(
          input.options.search,
          placed_->problem(),
          moves_per_sweep(placed_->problem(), Tuning::Population{}),
          num_workers()
      )),
      population_(
          placed_->problem(),
          [this](ChainId chain) { return make_start(input_, placed_->problem(), chain); },
          {search_.seed, search_.num_chains, threads_, choose_simd(search_)},
          Tuning{},
          comm
      ),
      scale_(static_cast<double>(population_.mean_change())),
      range_(choose_temperatures(expected_moves_per_sample(
          search_,
          placed_->problem(),
          moves_per_sweep(placed_->problem(), Tuning::Population{}),
          num_workers()
      ))),
      layout_(population_.best_layout()) {}

int PlanSearch::num_workers() const {
  return static_cast<int>(all_reduce_sum(std::int64_t{threads_}, comm_));
}

PlanSearch::Placed PlanSearch::place(Placement placement) const {
  return std::make_shared<const PlacedWindow>(
      input_.slice, input_.padded, input_.options, input_.packed.num_rows, std::move(placement),
      node_, comm_
  );
}

bool PlanSearch::is_good_enough() const { return population_.best_score().max_shard <= enough_; }

bool PlanSearch::places_experts() const {
  return input_.slice.shape.num_moe_layers() > 0 &&
         input_.options.constraints.placement == PlacementChoice::kFree;
}

bool PlanSearch::plans_are_alike() const {
  return layouts_are_alike(placed_->problem()) && !places_experts();
}

SearchEnd PlanSearch::end_of_search() const {
  const std::int64_t best = population_.best_score().max_shard;
  if (best <= proved_ || plans_are_alike()) {
    return SearchEnd::kProved;
  }
  if (best <= enough_) {
    return SearchEnd::kGap;
  }
  return search_.time_limit_seconds > 0.0 ? SearchEnd::kTime : SearchEnd::kBudget;
}

void PlanSearch::explore(double share) {
  const Placed aggregate = placed_;
  Placed best;
  SearchScore best_score;
  CellLayout best_layout;
  for (int number = 0; number < kNumExplorations && !is_good_enough(); ++number) {
    move_to(aggregate);
    // The start that the population had counts as the first exploration's.
    population_.start_over(
        number == 0 ? layout_ : make_start(input_, placed_->problem(), ChainId{number})
    );
    anneal(kExplore, share);
    improve_placement(kExplorePlacement);
    anneal(kSettle, share);
    const SearchScore score = population_.best_score();
    const bool ties =
        best != nullptr && score < best_score &&
        total_of(score, placed_->placement()) == total_of(best_score, best->placement());
    if (best == nullptr || ties ||
        gains(score, placed_->placement(), best_score, best->placement())) {
      best_score = score;
      best_layout = population_.best_layout();
      best = placed_;
    }
  }
  if (best != nullptr) {
    move_to(std::move(best));
    layout_ = std::move(best_layout);
    population_.start_over(layout_);
  }
}

void PlanSearch::run_turns(double share) {
  explore(share);
  phase_ = "anneal";
  const double left = 1.0 - kNumExplorations * (kExploreShare + kSettleShare);
  for (const Turn& turn : kTurns) {
    if (is_good_enough()) {
      break;
    }
    anneal({turn.budget * left, turn.heat, turn.num_stages}, share);
    improve_placement(kTurnPlacement);
  }
  layout_ = population_.best_layout();
}

// The population's problem is that of placed_, so the old one goes last.
void PlanSearch::move_to(Placed placed) {
  population_.rebase(placed->problem());
  placed_ = std::move(placed);
}

void PlanSearch::anneal(const Turn& turn, double share) {
  const double begin = spent_;
  spent_ += turn.budget * share;
  if (layouts_are_alike(placed_->problem())) {
    return;
  }
  Round round;
  round.enough = enough_;
  round.first_temperature = static_cast<std::int64_t>(range_.first * turn.heat * scale_);
  round.last_temperature =
      std::min(round.first_temperature, static_cast<std::int64_t>(range_.last * scale_));
  round.num_stages = turn.num_stages;
  const auto sweeps = static_cast<double>(search_.num_sweeps);
  round.num_sweeps =
      static_cast<std::int64_t>(spent_ * sweeps) - static_cast<std::int64_t>(begin * sweeps);
  if (search_.time_limit_seconds > 0.0) {
    const double usable = search_.time_limit_seconds * (1.0 - kShareAfterSearch) -
                          input_.options.search.seconds_spent - placing_seconds_;
    round.deadline_seconds = std::max(1e-3, usable * spent_);
  }
  population_.anneal(round, clock_, [this](const StageReport& stage) { tell(stage); });
}

void PlanSearch::tell(const StageReport& stage) const {
  if (observer_.progress) {
    const double gap = input_.lower_bound > 0.0 ? stage.best / input_.lower_bound - 1.0 : 0.0;
    observer_.progress(
        {phase_, stage.stage, stage.num_stages, stage.temperature, stage.best, gap,
         stage.moves_per_second, clock_.seconds()}
    );
  }
}

std::int64_t PlanSearch::moves_per_layer(const PlacementTurn& turn) const {
  if (search_.time_limit_seconds <= 0.0) {
    // A small budget of sweeps is to stay small: an eighth of a chain's moves for all layers.
    const std::int64_t eighth = search_.num_sweeps *
                                moves_per_sweep(placed_->problem(), Tuning::Population{}) / 8 /
                                std::max(input_.slice.shape.num_moe_layers(), 1);
    return std::min(turn.moves_per_layer, std::max(eighth, kFewestMovesPerLayer));
  }
  std::int64_t moves = kFirstMovesPerLayer;
  if (seconds_per_move_ > 0.0) {
    const double allowed = turn.time_share * search_.time_limit_seconds;
    moves = static_cast<std::int64_t>(
        std::min(allowed / seconds_per_move_, static_cast<double>(kMostMovesPerLayer))
    );
  }
  return broadcast_value(moves, 0, comm_);  // the root's clock decides for all
}

// The experts' placement for the layout, within the terms of the migration.
Placement PlanSearch::place_for_layout(const PlacementTurn& turn) {
  const double started = clock_.seconds();
  if (!input_.terms.is_free && !has_time_to_migrate()) {
    return placed_->placement();
  }
  Placement placement = input_.terms.is_free ? anneal_placement(turn) : migrate_for_layout(turn);
  placing_seconds_ = std::max(placing_seconds_, clock_.seconds() - started);
  return placement;
}

Placement PlanSearch::anneal_placement(const PlacementTurn& turn) {
  const double started = clock_.seconds();
  const PlanOptions& options = input_.options;
  const std::int64_t moves = moves_per_layer(turn);
  Placement placement = refine_placement(
      input_.slice, layout_, placed_->placement(),
      options.current_placement ? &*options.current_placement : nullptr, options.topology,
      {moves, search_.seed, placements_++, threads_, choose_simd(search_), acceptance_}, comm_
  );
  seconds_per_move_ =
      (clock_.seconds() - started) / static_cast<double>(std::max<std::int64_t>(moves, 1));
  return placement;
}

Placement PlanSearch::migrate_for_layout(const PlacementTurn& turn) {
  const double started = clock_.seconds();
  const MigrationTerms& terms = input_.terms;
  const std::vector<std::int64_t> budgets =
      migration_budgets(*input_.options.current_placement, terms);
  LayoutMigration migration(input_.slice, layout_, input_.options, threads_, comm_);
  migration.trace(seconds_of(kTraceShare));
  const std::vector<MigrationChoice> choices = migration.choose(budgets);
  const MigrationChoice& choice = cheapest(choices, terms);
  if (!affords_another(started, turn.time_share)) {
    return choice.placement;
  }
  // No layer has as many pairs: above it nothing pays for a move.
  constexpr double kMostPrice = 8'589'934'592.0;
  const auto asked = static_cast<std::int64_t>(std::min(terms.price_pairs, kMostPrice));
  migration.search_near(
      choice.placement, std::max(migration.price_at(choice.moved_experts), asked), placements_++
  );
  return cheapest(migration.choose(budgets), terms).placement;
}

// That share of the time limit; without one, no limit.
double PlanSearch::seconds_of(double time_share) const {
  return search_.time_limit_seconds > 0.0 ? time_share * search_.time_limit_seconds
                                          : std::numeric_limits<double>::infinity();
}

bool PlanSearch::has_time_to_migrate() const {
  if (search_.time_limit_seconds <= 0.0) {
    return true;
  }
  constexpr double kShareOfTheRest = 0.25;
  const double left = search_.time_limit_seconds * (1.0 - kShareAfterSearch) -
                      input_.options.search.seconds_spent - clock_.seconds();
  return broadcast_value(placing_seconds_ < kShareOfTheRest * left ? 1 : 0, 0, comm_) != 0;
}

bool PlanSearch::affords_another(double started, double time_share) const {
  if (search_.time_limit_seconds <= 0.0) {
    return true;
  }
  const bool fits = clock_.seconds() - started < time_share * search_.time_limit_seconds;
  return broadcast_value(fits ? 1 : 0, 0, comm_) != 0;
}

// Goes on with a placement for the best layout if that gains, the price of moving counted in;
// otherwise with the old one. All chains continue from the layout.
void PlanSearch::improve_placement(const PlacementTurn& turn) {
  layout_ = population_.best_layout();
  if (!places_experts() || is_good_enough()) {
    population_.restart_from(layout_);
    return;
  }
  Placed offered = place(place_for_layout(turn));
  const SearchScore before = population_.best_score();
  population_.rebase(offered->problem());
  const SearchScore after = population_.best_score();
  if (gains(after, offered->placement(), before, placed_->placement())) {
    placed_.swap(offered);
  } else {
    population_.rebase(placed_->problem());
  }
  population_.restart_from(layout_);
}

double PlanSearch::cost_of(const SearchScore& score) const {
  return static_cast<double>(score.max_shard) / placed_->problem().units_per_cost;
}

// In cost units of max_shard.
double PlanSearch::price_of(const Placement& placement) const {
  if (!input_.options.current_placement) {
    return 0.0;
  }
  const MigrationOptions& asked = input_.options.migration;
  return asked.cost_per_expert / static_cast<double>(asked.horizon_steps) *
         static_cast<double>(count_moved_experts(*input_.options.current_placement, placement));
}

double PlanSearch::total_of(const SearchScore& score, const Placement& placement) const {
  return cost_of(score) + price_of(placement);
}

bool PlanSearch::gains(
    const SearchScore& score,
    const Placement& placement,
    const SearchScore& old_score,
    const Placement& old_placement
) const {
  return score.max_shard <= std::max(old_score.max_shard, reorder_) &&
         total_of(score, placement) < total_of(old_score, old_placement);
}

SearchOutput PlanSearch::result(std::vector<MigrationPoint> front) const {
  SearchOptions used = search_;
  used.num_sweeps = population_.sweeps_done();
  return {
      placed_->placement(),
      deal_blocks(placed_->problem(), layout_),
      used,
      end_of_search(),
      plans_are_alike(),
      std::move(front)};
}

}  // namespace routepack
