#include "planner/search.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "annealing/population.hpp"
#include "base/simd.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "demand/project.hpp"
#include "packing/start_layout.hpp"
#include "planner/block_demand.hpp"
#include "planner/effort.hpp"
#include "planner/polish.hpp"

namespace routepack {
namespace {

// A turn: anneal, then place the experts for the best layout. Shares of the budget, and how hot
// to start relative to the first turn.
struct Turn {
  double budget_end;  // share of the whole budget spent when the turn ends
  double heat;
  int num_stages;
};
// A placement made for an early layout, then a long warm anneal under it, beats a long anneal
// under the aggregate placement by far.
constexpr std::array<Turn, 3> kTurns = {{{0.25, 0.3, 24}, {0.75, 0.3, 48}, {1.0, 0.05, 24}}};
// Of a time limit, for what follows the search: metrics, checks and writing.
constexpr double kShareAfterSearch = 0.06;

// A placement with everything that depends on it.
class PlacedWindow {
 public:
  PlacedWindow(
      const SearchInput& input,
      Placement placement,
      const Communicator& node,
      const Communicator& comm
  )
      : placement_(std::move(placement)),
        projected_(project_demand(input.slice, placement_, node, comm)),
        problem_(agree_on(
            [&] {
              return make_search_problem(
                  input.padded_lengths, projected_.view(), input.options.topology,
                  input.options.cost, input.packed.num_rows
              );
            },
            comm
        )) {}
  [[nodiscard]] const Placement& placement() const { return placement_; }
  [[nodiscard]] const SearchProblem& problem() const { return problem_; }

 private:
  Placement placement_;
  ProjectedDemand projected_;
  SearchProblem problem_;
};

// Chain 0 starts from first fit where it has the rows, the others from the kinds in turn.
CellLayout make_start(const SearchInput& input, const SearchProblem& problem, ChainId chain) {
  if (chain == ChainId{0} && input.first_fit.num_rows == input.packed.num_rows) {
    return input.first_fit;
  }
  constexpr std::array<StartKind, 4> kKinds = {
      StartKind::kKarmarkarKarp, StartKind::kPacked, StartKind::kShuffledFit,
      StartKind::kRandomBestFit};
  StartProblem start{
      input.padded_lengths,
      input.options.cost.capacity_tokens,
      input.options.topology,
      input.packed.num_rows,
      IndexVector<SampleId, std::int64_t>{input.padded_lengths.size(), 0},
      input.packed};
  for (const SampleId sample : ids<SampleId>(input.padded_lengths.size())) {
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

SearchOutput search_plan(
    const SearchInput& input, const PlanObserver& observer, const Communicator& comm
) {
  const Stopwatch clock;
  const Communicator node = comm.split_by_node();
  const int threads = choose_threads(input.options.search, node);
  const int workers = static_cast<int>(all_reduce_sum(std::int64_t{threads}, comm));
  auto placed = std::make_unique<PlacedWindow>(input, input.placement, node, comm);
  const SearchOptions& asked = input.options.search;
  const SearchOptions search = complete_options(
      asked, placed->problem(), Population::moves_per_sweep(placed->problem()), workers
  );
  const auto start = [&](ChainId chain) { return make_start(input, placed->problem(), chain); };
  Population population(
      placed->problem(), start, {search.seed, search.num_chains, threads, best_simd_level()}, comm
  );
  const std::int64_t scale = population.mean_change();
  const TemperatureRange range = choose_temperatures(expected_moves_per_sample(
      search, placed->problem(), Population::moves_per_sweep(placed->problem()), workers
  ));
  const double limit = search.time_limit_seconds * (1.0 - kShareAfterSearch);
  std::string phase = "anneal";
  const Population::Report report = [&](const StageReport& stage) {
    if (observer.progress) {
      const double gap = input.lower_bound > 0.0 ? stage.best / input.lower_bound - 1.0 : 0.0;
      observer.progress(
          {phase, stage.stage, stage.num_stages, stage.temperature, stage.best, gap,
           stage.moves_per_second, clock.seconds()}
      );
    }
  };
  std::int64_t sweeps_spent = 0;
  for (std::size_t turn = 0; turn < kTurns.size(); ++turn) {
    const auto sweeps_by_then =
        static_cast<std::int64_t>(kTurns[turn].budget_end * static_cast<double>(search.num_sweeps));
    Round round;
    round.first_temperature =
        static_cast<std::int64_t>(range.first * kTurns[turn].heat * static_cast<double>(scale));
    round.last_temperature = static_cast<std::int64_t>(range.last * static_cast<double>(scale));
    round.num_sweeps = sweeps_by_then - sweeps_spent;
    round.num_stages = kTurns[turn].num_stages;
    round.deadline_seconds = limit * kTurns[turn].budget_end;
    sweeps_spent = sweeps_by_then;
    population.anneal(round, clock, report);
    const CellLayout best = population.best_layout();
    auto refined = std::make_unique<PlacedWindow>(
        input,
        refine_placement(
            input.slice, best, placed->placement(), input.options.topology, {}, threads, comm
        ),
        node, comm
    );
    const SearchScore before = population.best_score();
    population.rebase(refined->problem());
    if (population.best_score() < before) {
      placed.swap(refined);
    } else {
      population.rebase(placed->problem());
    }
    population.restart_from(best);
    phase = "re-anneal";
  }
  const CellLayout layout = deal_blocks(placed->problem(), population.best_layout());
  return SearchOutput{
      placed->placement(), layout, search, search.time_limit_seconds > 0.0,
      static_cast<double>(population.best_score().max_shard) / placed->problem().units_per_cost};
}

}  // namespace routepack
