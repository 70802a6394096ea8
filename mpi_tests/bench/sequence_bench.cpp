// What limited moving keeps, in whole plans over sequences of windows: the placement that a plan
// without limits chose for one window is the current placement when the next one is planned, with
// at most so many experts moved. Run under mpirun; one thread a rank. Every plan has the same
// number of sweeps. kept: share of the gain of free moving over staying, max_shard each; the median
// over seeds, every seed another pair of windows. noise: median difference between two searches of
// the same plan, in % of max_shard, to be held against the gain.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cmath>
#include <exception>
#include <string>
#include <vector>

#include "bench/mpi_bench.hpp"
#include "placement/moving/choose_migrations.hpp"
#include "routepack/planner.hpp"
#include "sequence_windows.hpp"

namespace routepack {
namespace {

struct Settings {
  std::vector<double> drifts;
  int num_seeds = 3;
  std::int64_t num_sweeps = 300;
  std::vector<double> limits;  // shares of the experts that may move, 0 first, 1 last
  std::vector<std::string> cases;
};

// Of one pair of windows.
struct Outcome {
  std::vector<double> max_shard;  // by limit
  std::vector<double> moved;      // share of the experts, by limit
  std::vector<double> front;      // max_shard, by limit, as the plan without a limit prints it
  double noise_percent = 0.0;
  double num_blocks = 0.0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

template <class Value>
std::vector<double> values_of(const std::vector<Outcome>& outcomes, const Value& value) {
  std::vector<double> values;
  std::transform(outcomes.begin(), outcomes.end(), std::back_inserter(values), value);
  return values;
}

PlanOptions options_of(const SequenceCase& sequence, const Settings& settings, std::uint64_t seed) {
  PlanOptions options;
  options.topology = sequence.topology;
  options.cost = {sequence.capacity_tokens, {{"full", 100.0, 50.0}}, 1.0};
  options.search = {
      .seed = seed, .num_chains = 2, .num_sweeps = settings.num_sweeps, .num_threads = 1};
  return options;
}

double front_at(const Plan& plan, double limit) {
  double best = plan.migration_front.front().max_shard;
  for (const MigrationPoint& point : plan.migration_front) {
    best = point.max_moved_fraction <= limit ? point.max_shard : best;
  }
  return best;
}

Outcome try_limits(
    const SequenceCase& sequence,
    const Settings& settings,
    std::uint64_t seed,
    const comm::Communicator& comm
) {
  const WindowPair windows = make_pair_of(sequence, seed, comm);
  PlanOptions options = options_of(sequence, settings, seed);
  options.current_placement = make_plan(windows.before, options, comm.get()).placement;
  const double all = static_cast<double>(windows.after.shape.num_moe_layers()) *
                     static_cast<double>(windows.after.shape.num_experts);
  Outcome outcome;
  Plan last;
  for (const double limit : settings.limits) {
    options.migration.max_moved_fraction = limit;
    last = make_plan(windows.after, options, comm.get());
    outcome.max_shard.push_back(last.objective.max_shard);
    outcome.moved.push_back(static_cast<double>(last.moved_experts) / all);
  }
  outcome.num_blocks = last.layout.num_rows * options.topology.edp();
  for (const double limit : settings.limits) {
    outcome.front.push_back(front_at(last, limit));
  }
  options.migration.max_moved_fraction = 0.0;
  constexpr std::uint64_t kOtherSearch = 1'000'000;
  options.search.seed += kOtherSearch;
  const double again = make_plan(windows.after, options, comm.get()).objective.max_shard;
  const double stale = outcome.max_shard.front();
  outcome.noise_percent = 100.0 * std::abs(again - stale) / stale;
  return outcome;
}

double kept(const Outcome& outcome, double max_shard) {
  const double stale = outcome.max_shard.front();
  return 100.0 * (stale - max_shard) / (stale - outcome.max_shard.back());
}

void print_case(
    const SequenceCase& sequence, const Settings& settings, const std::vector<Outcome>& outcomes
) {
  const auto of = [&](const auto& value) { return median(values_of(outcomes, value)); };
  fmt::print(
      "| {} | {} | {:.0f} | {:.4f} | {:.4f} | {:.2f} | {:.2f} |", sequence.name,
      sequence.folder.empty() ? fmt::format("{:.0f} %", 100.0 * sequence.drift) : "halves",
      of([](const Outcome& x) { return x.num_blocks; }),
      of([](const Outcome& x) { return x.max_shard.front(); }),
      of([](const Outcome& x) { return x.max_shard.back(); }),
      of([](const Outcome& x) { return 100.0 * (1.0 - x.max_shard.back() / x.max_shard.front()); }),
      of([](const Outcome& x) { return x.noise_percent; })
  );
  for (std::size_t n = 1; n + 1 < settings.limits.size(); ++n) {
    const auto values =
        values_of(outcomes, [n](const Outcome& x) { return kept(x, x.max_shard[n]); });
    fmt::print(
        " {:.0f} ({:.0f}-{:.0f}), {:.0f} |", median(values),
        *std::min_element(values.begin(), values.end()),
        *std::max_element(values.begin(), values.end()),
        of([n](const Outcome& x) { return kept(x, x.front[n]); })
    );
  }
  fmt::print(" {:.0f} % |\n", of([](const Outcome& x) { return 100.0 * x.moved.back(); }));
  std::fflush(stdout);
}

void print_head(const Settings& settings) {
  fmt::print("| model | drift | blocks | stay | free | gain % | noise % |");
  for (std::size_t n = 1; n + 1 < settings.limits.size(); ++n) {
    fmt::print(" kept at {:g} %: plan (range), front |", 100.0 * settings.limits[n]);
  }
  fmt::print(" free moves |\n|");
  for (std::size_t column = 0; column + 2 < settings.limits.size() + 8; ++column) {
    fmt::print("---|");
  }
  fmt::print("\n");
}

std::vector<SequenceCase> cases_of(const Settings& settings) {
  std::vector<SequenceCase> cases;
  for (const SequenceCase& sequence : synthetic_cases()) {
    const auto& asked = settings.cases;
    if (asked.empty() || std::find(asked.begin(), asked.end(), sequence.name) != asked.end()) {
      for (const double drift : settings.drifts) {
        cases.push_back(sequence);
        cases.back().drift = drift;
      }
    }
  }
  for (const std::string& text : settings.cases) {
    if (text.find(':') != std::string::npos) {
      cases.push_back(parse_case(text));
    }
  }
  return cases;
}

Settings settings_of(int argc, char** argv) {
  namespace po = boost::program_options;
  Settings settings;
  po::options_description options;
  auto add = options.add_options();
  add("drift", po::value(&settings.drifts)->multitoken());
  add("limit", po::value(&settings.limits)->multitoken());
  add("seeds", po::value(&settings.num_seeds));
  add("sweeps", po::value(&settings.num_sweeps));
  add("case", po::value(&settings.cases)->multitoken());
  po::variables_map values;
  po::store(po::parse_command_line(argc, argv, options), values);
  po::notify(values);
  if (settings.drifts.empty()) {
    settings.drifts = {0.0, 0.1, 0.2, 0.3};
  }
  if (settings.limits.empty()) {
    settings.limits.assign(placement::kFrontFractions.begin(), placement::kFrontFractions.end());
  }
  return settings;
}

int run(int argc, char** argv, const comm::Communicator& comm) {
  try {
    const Settings settings = settings_of(argc, argv);
    if (comm.is_root()) {
      print_head(settings);
    }
    for (const SequenceCase& sequence : cases_of(settings)) {
      std::vector<Outcome> outcomes;
      for (int seed = 1; seed <= settings.num_seeds; ++seed) {
        outcomes.push_back(try_limits(sequence, settings, static_cast<std::uint64_t>(seed), comm));
      }
      if (comm.is_root()) {
        print_case(sequence, settings, outcomes);
      }
    }
  } catch (const std::exception& error) {
    if (comm.is_root()) {
      fmt::print(
          stderr,
          "sequence_bench: {}\nusage: sequence_bench [--drift D...] [--limit 0 0.1 1] [--seeds N] "
          "[--sweeps N] [--case NAME|folder:dp:ep:capacity...]\n",
          error.what()
      );
    }
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace routepack

int main(int argc, char** argv) {
  return routepack::testing::run_mpi_bench(argc, argv, routepack::run);
}
