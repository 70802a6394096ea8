#include "planner/plan_search.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/simd.hpp"
#include "comm/collectives.hpp"
#include "packing/start_layout.hpp"
#include "planner/polish.hpp"
#include "planner/row_placement.hpp"

namespace routepack {
namespace {

// A placement made for an early layout, then a long warm anneal under it, beats a long anneal
// under the aggregate placement by far.
constexpr std::array<Turn, 3> kTurns = {{{0.25, 0.3, 24}, {0.75, 0.3, 48}, {1.0, 0.05, 24}}};
// Of a time limit, for what follows the search: figures, checks and writing.
constexpr double kShareAfterSearch = 0.03;

// Chain 0 starts from first fit where it has the rows, the others from the kinds in turn.
CellLayout make_start(const SearchInput& input, const SearchProblem& problem, ChainId chain) {
  if (chain == ChainId{0} && input.first_fit.num_rows == input.packed.num_rows) {
    return input.first_fit;
  }
  constexpr std::array<StartKind, 4> kKinds = {
      StartKind::kKarmarkarKarp, StartKind::kPacked, StartKind::kShuffledFit,
      StartKind::kRandomBestFit};
  StartProblem start{
      input.padded,
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
  return make_start_layout(kKinds[kind], start, random);
}

}  // namespace

PlanSearch::PlanSearch(
    const SearchInput& input, const PlanObserver& observer, const Communicator& comm
)
    : input_(input),
      observer_(observer),
      comm_(comm),
      node_(comm.split_by_node()),
      threads_(choose_threads(input.options.search, node_)),
      placed_(place(input.placement)),
      search_(complete_options(
          input.options.search,
          placed_->problem(),
          Population::moves_per_sweep(placed_->problem()),
          num_workers()
      )),
      population_(
          placed_->problem(),
          [this](ChainId chain) { return make_start(input_, placed_->problem(), chain); },
          {search_.seed, search_.num_chains, threads_, best_simd_level()},
          comm
      ),
      scale_(static_cast<double>(population_.mean_change())),
      range_(choose_temperatures(expected_moves_per_sample(
          search_,
          placed_->problem(),
          Population::moves_per_sweep(placed_->problem()),
          num_workers()
      ))),
      layout_(population_.best_layout()) {}

int PlanSearch::num_workers() const {
  return static_cast<int>(all_reduce_sum(std::int64_t{threads_}, comm_));
}

PlanSearch::Placed PlanSearch::place(Placement placement) const {
  return std::make_unique<PlacedWindow>(
      input_.slice, input_.padded, input_.options, input_.packed.num_rows, std::move(placement),
      node_, comm_
  );
}

void PlanSearch::run_turns(double share) {
  double spent = 0.0;
  for (Turn turn : kTurns) {
    turn.budget_end *= share;
    anneal(turn, spent);
    spent = turn.budget_end;
    layout_ = population_.best_layout();
    offer(place_for_layout());
    phase_ = "re-anneal";
  }
}

void PlanSearch::anneal(const Turn& turn, double begin) {
  Round round;
  round.first_temperature = static_cast<std::int64_t>(range_.first * turn.heat * scale_);
  round.last_temperature =
      std::min(round.first_temperature, static_cast<std::int64_t>(range_.last * scale_));
  round.num_stages = turn.num_stages;
  const auto sweeps = static_cast<double>(search_.num_sweeps);
  round.num_sweeps = static_cast<std::int64_t>(turn.budget_end * sweeps) -
                     static_cast<std::int64_t>(begin * sweeps);
  if (search_.time_limit_seconds > 0.0) {
    const double usable = search_.time_limit_seconds * (1.0 - kShareAfterSearch) -
                          input_.options.search.seconds_spent - placing_seconds_;
    round.deadline_seconds = std::max(1e-3, usable * turn.budget_end);
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

// The experts' placement for the layout, within the terms of the migration.
Placement PlanSearch::place_for_layout() {
  const double started = clock_.seconds();
  const PlanOptions& options = input_.options;
  const Placement* current = options.current_placement ? &*options.current_placement : nullptr;
  Placement placement = input_.terms.is_free
                            ? refine_placement(
                                  input_.slice, layout_, placed_->placement(), current,
                                  options.topology, threads_, comm_
                              )
                            : cheapest(
                                  migrations_for_layout(
                                      input_.slice, layout_, *current, options,
                                      migration_budgets(*current, input_.terms), threads_, comm_
                                  ),
                                  input_.terms
                              )
                                  .placement;
  placing_seconds_ = std::max(placing_seconds_, clock_.seconds() - started);
  return placement;
}

// Goes on with a placement under which the layout gains, also beyond the price of moving;
// otherwise with the old one. All chains continue from the layout.
void PlanSearch::offer(Placement placement) {
  Placed offered = place(std::move(placement));
  const SearchScore before = population_.best_score();
  population_.rebase(offered->problem());
  const SearchScore after = population_.best_score();
  const bool gains = after < before && cost_of(after) + price_of(offered->placement()) <
                                           cost_of(before) + price_of(placed_->placement());
  if (gains) {
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

SearchOutput PlanSearch::result(std::vector<MigrationPoint> front) const {
  SearchOptions used = search_;
  used.num_sweeps = population_.sweeps_done();
  return {placed_->placement(), deal_blocks(placed_->problem(), layout_), used, std::move(front)};
}

}  // namespace routepack
