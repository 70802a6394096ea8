// One long chain, P independent chains and the population at equal wall time, by the gap to the
// lower bound on max_shard. Run under mpirun; one thread a rank.
//   usage: population_bench WINDOW DP EP CAPACITY [SECONDS] [SEEDS]
// Attention stage "full" with alpha 100, beta 50. The placement is that of the aggregate demand, so
// gaps are comparable with each other, not with those of whole plans. Starts, temperatures and
// number of stages are the same function of the moves that a chain gets in all three.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "annealing/population.hpp"
#include "base/simd.hpp"
#include "bench/mpi_bench.hpp"
#include "comm/collectives.hpp"
#include "demand/load_window.hpp"
#include "demand/reduce.hpp"
#include "objective/bound.hpp"
#include "packing/pack_rows.hpp"
#include "packing/start_layout.hpp"
#include "placement/aggregate/place_experts.hpp"
#include "planner/budget.hpp"
#include "planner/placed_population.hpp"

namespace routepack {
namespace {

struct Settings {
  std::string window;
  PlanOptions options;
  double seconds = 1.0;
  int num_seeds = 10;
};

struct Method {
  std::string name;
  int num_chains = 1;
  bool resample = true;
  bool alone = false;  // on the root, while the other ranks sleep
};

struct Result {
  double gap_percent = 0.0;
  double moves_per_second = 0.0;
};

class Window {
 public:
  Window(const Settings& settings, const comm::Communicator& comm)
      : Window(settings.options, demand::load_window(settings.window, comm), comm) {}

  [[nodiscard]] const objective::SearchProblem& problem() const { return placed_.problem(); }
  [[nodiscard]] double gap_percent(const objective::SearchScore& score) const {
    const double cost = static_cast<double>(score.max_shard) / problem().units_per_cost;
    return 100.0 * (cost / bound_.max_shard - 1.0);
  }
  // Longest first with a perturbed order, another for every seed and chain.
  [[nodiscard]] CellLayout start(std::uint64_t seed, ChainId chain) const {
    packing::StartProblem start{
        padded_,
        options_.cost.capacity_tokens,
        problem().topology,
        problem().num_rows,
        IndexVector<SampleId, std::int64_t>{padded_.size(), 0},
        rows_.layout};
    for (const SampleId sample : ids<SampleId>(padded_.size())) {
      for (const std::int64_t attention : problem().attention_of(sample)) {
        start.attention_work[sample] += attention;
      }
    }
    const random::Stream random{
        seed, random::Purpose::kStarts, static_cast<std::uint32_t>(chain.value())};
    return packing::make_start_layout(packing::StartKind::kShuffledFit, start, random);
  }

 private:
  Window(const PlanOptions& options, const WindowSlice& slice, const comm::Communicator& comm)
      : options_(options),
        placement_(place(options, slice, comm)),
        padded_(packing::pad_lengths(
            comm::all_gather(slice.lengths, comm), 1, options.cost.capacity_tokens
        )),
        rows_(packing::pack_rows(padded_, options.cost.capacity_tokens, options.topology.dp, 1, {})
        ),
        bound_(bound_of(slice, comm)),
        node_(comm.split_by_node()),
        placed_(
            slice, padded_, options, rows_.certificate.num_rows, placement_.placement, node_, comm
        ) {}

  static placement::PlacementResult place(
      const PlanOptions& options, const WindowSlice& slice, const comm::Communicator& comm
  ) {
    const domain::WindowDemand window = demand::reduce_demand(slice, comm);
    return placement::place_experts(
        {window.demand.pairs, slice.shape.num_moe_layers(), slice.shape.num_experts,
         options.topology.ep},
        {}, 1, comm
    );
  }

  [[nodiscard]] ShardBound bound_of(const WindowSlice& slice, const comm::Communicator& comm)
      const {
    const IndexVector<SampleId, std::int64_t> routed = demand::gather_routed_pairs(slice, comm);
    return objective::max_shard_lower_bound(
        {padded_, routed, demand::pairs_of_layers(demand::reduce_demand(slice, comm).demand),
         placement_.lower_bound.values(), options_.topology, options_.cost,
         domain::cell_rules(options_, slice.shape.top_k), rows_.certificate.num_rows}
    );
  }

  const PlanOptions& options_;
  placement::PlacementResult placement_;
  packing::PaddedLengths padded_;
  packing::PackedRows rows_;
  ShardBound bound_;
  comm::Communicator node_;
  planner::PlacedWindow placed_;
};

// Waits without taking a core from the ranks that work.
void sleep_until_all_are_here(const comm::Communicator& comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(comm.get(), &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

Result anneal(
    const Window& window,
    const Method& method,
    std::uint64_t seed,
    double seconds,
    const comm::Communicator& comm
) {
  const objective::SearchProblem& problem = window.problem();
  domain::Tuning tuning;
  tuning.population.resample = method.resample;
  const domain::Tuning::Turn& turn = tuning.search.turns.front();  // the planner's longest
  SearchOptions search;
  search.num_chains = method.num_chains;
  search.time_limit_seconds = seconds;
  const planner::TemperatureRange range =
      planner::choose_temperatures(search, problem, tuning, comm.num_mpi_ranks());
  annealing::Population population(
      problem, [&](ChainId chain) { return window.start(seed, chain); },
      {seed, method.num_chains, 1, base::best_simd_level()}, tuning, comm
  );
  const auto scale = static_cast<double>(population.mean_change());
  annealing::Round round;
  round.first_temperature = static_cast<std::int64_t>(range.first * turn.heat * scale);
  round.last_temperature =
      std::min(round.first_temperature, static_cast<std::int64_t>(range.last * scale));
  round.num_stages = turn.num_stages;
  round.deadline_seconds = seconds;
  const base::Stopwatch clock;
  population.anneal(round, clock, {});
  return {
      window.gap_percent(population.best_score()),
      static_cast<double>(population.total_moves()) / clock.seconds()};
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

void print_row(
    const Settings& settings,
    const Method& method,
    const std::vector<Result>& results,
    const comm::Communicator& comm
) {
  std::vector<double> gaps;
  std::vector<double> rates;
  for (const Result& result : results) {
    gaps.push_back(result.gap_percent);
    rates.push_back(result.moves_per_second * 1e-6);
  }
  fmt::print(
      "| {} | {} | {} | {} | {:.3f} | {:.3f} to {:.3f} | {:.3f} | {:.2f} |\n",
      settings.window.substr(settings.window.find_last_of('/') + 1), comm.num_mpi_ranks(),
      method.name, method.num_chains, quantile(gaps, 0.5), quantile(gaps, 0.25),
      quantile(gaps, 0.75), quantile(gaps, 0.0), quantile(rates, 0.5)
  );
  std::fflush(stdout);
}

void compare(const Settings& settings, const comm::Communicator& comm) {
  const Window window(settings, comm);
  const comm::Communicator self(MPI_COMM_SELF);
  const int workers = comm.num_mpi_ranks();
  const std::vector<Method> methods = {
      {"one chain", 1, false, true},
      {"independent", workers, false},
      {"population", workers, true},
      {"independent", 4 * workers, false},
      {"population", 4 * workers, true}};
  if (comm.is_root()) {
    fmt::print(
        "| window | ranks | method | chains | median gap % | quartiles | best | M moves/s |\n"
        "|---|---|---|---|---|---|---|---|\n"
    );
  }
  // Seeds outside, methods inside: what else the machine does meets all methods.
  std::vector<std::vector<Result>> results(methods.size());
  for (int seed = 1; seed <= settings.num_seeds; ++seed) {
    for (std::size_t n = 0; n < methods.size(); ++n) {
      if (!methods[n].alone || comm.is_root()) {
        results[n].push_back(anneal(
            window, methods[n], static_cast<std::uint64_t>(seed), settings.seconds,
            methods[n].alone ? self : comm
        ));
      }
      sleep_until_all_are_here(comm);
    }
  }
  for (std::size_t n = 0; comm.is_root() && n < methods.size(); ++n) {
    print_row(settings, methods[n], results[n], comm);
  }
}

int run(int argc, char** argv, const comm::Communicator& comm) {
  if (argc < 5 || argc > 7) {
    if (comm.is_root()) {
      fmt::print(stderr, "usage: population_bench WINDOW DP EP CAPACITY [SECONDS] [SEEDS]\n");
    }
    return 2;
  }
  Settings settings;
  settings.window = argv[1];
  settings.options.topology = {.dp = std::stoi(argv[2]), .ep = std::stoi(argv[3])};
  settings.options.cost = {std::stoll(argv[4]), {{"full", 100.0, 50.0}}, 1.0};
  settings.seconds = argc > 5 ? std::stod(argv[5]) : settings.seconds;
  settings.num_seeds = argc > 6 ? std::max(1, std::stoi(argv[6])) : settings.num_seeds;
  compare(settings, comm);
  return 0;
}

}  // namespace
}  // namespace routepack

int main(int argc, char** argv) {
  return routepack::testing::run_mpi_bench(argc, argv, routepack::run);
}
