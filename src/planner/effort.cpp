#include "planner/effort.hpp"

#include <omp.h>

#include <algorithm>
#include <thread>

#include "base/simd.hpp"

namespace routepack {
namespace {

// A move costs some 30 ns and 12 bytes a (EP rank, layer) of two blocks, at roughly 25 bytes a
// nanosecond.
double seconds_per_move(const SearchProblem& problem) {
  const double bytes = 12.0 * static_cast<double>(problem.demand.sample_stride());
  return (30.0 + bytes / 25.0) * 1e-9;
}

}  // namespace

int choose_threads(int asked, const Communicator& node) {
  constexpr int kMaxThreadsPerCore = 4;
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  if (asked > 0) {
    return std::min(asked, kMaxThreadsPerCore * cores);
  }
  const int share = std::max(1, cores / node.num_mpi_ranks());
  return std::max(1, std::min({share, omp_get_max_threads(), omp_get_num_procs()}));
}

SimdLevel choose_simd(const SearchOptions& asked) {
  return std::min(asked.max_simd, best_simd_level());
}

SearchOptions complete_options(
    SearchOptions asked, const SearchProblem& problem, std::int64_t moves_per_sweep, int num_workers
) {
  constexpr int kDefaultChains = 4;
  if (asked.num_chains == 0) {
    asked.num_chains = asked.time_limit_seconds > 0.0 ? num_workers : kDefaultChains;
  }
  if (asked.num_sweeps == 0 && asked.time_limit_seconds <= 0.0) {
    // Small windows are done sooner than in proportion: fewer samples, and fewer moves of each.
    constexpr double kSecondsPerChain = 1.6;
    constexpr double kFullSamples = 512.0;
    const double size = std::min(1.0, problem.num_samples() / kFullSamples);
    const double sweeps = kSecondsPerChain * size * size / seconds_per_move(problem) /
                          static_cast<double>(moves_per_sweep);
    asked.num_sweeps = std::clamp<std::int64_t>(static_cast<std::int64_t>(sweeps), 20, 20'000);
  }
  return asked;
}

double expected_moves_per_sample(
    const SearchOptions& search,
    const SearchProblem& problem,
    std::int64_t moves_per_sweep,
    int num_workers
) {
  double moves = static_cast<double>(search.num_sweeps) * static_cast<double>(moves_per_sweep);
  if (search.time_limit_seconds > 0.0) {
    const double chains_per_worker =
        std::max(1.0, static_cast<double>(search.num_chains) / static_cast<double>(num_workers));
    moves = search.time_limit_seconds / seconds_per_move(problem) / chains_per_worker;
  }
  return moves / static_cast<double>(std::max(1, problem.num_samples()));
}

TemperatureRange choose_temperatures(double moves_per_sample) {
  const double first = std::clamp(5e-5 * moves_per_sample, 0.003, 0.8);
  return TemperatureRange{first, std::min(0.001, 0.1 * first)};
}

}  // namespace routepack
