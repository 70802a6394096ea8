// How much work a plan gets where the user left it open: a function of the window's size, so that
// the plan stays the same on every machine.
#pragma once

#include "comm/communicator.hpp"
#include "objective/search_problem.hpp"
#include "routepack/options.hpp"

namespace routepack {

// Threads of this rank: as asked, but at most four times the node's cores, as more only take
// memory; where `asked` is 0 the node's cores divided by its ranks, within what OpenMP and the
// process's CPU binding allow.
[[nodiscard]] int choose_threads(int asked, const Communicator& node);

// The widest vector instructions that both the options and this CPU allow.
[[nodiscard]] SimdLevel choose_simd(const SearchOptions& asked);

// Fills in the population size and the sweeps. With a time limit and no population size given,
// every worker (`num_workers` threads over all ranks) runs one chain.
[[nodiscard]] SearchOptions complete_options(
    SearchOptions asked, const SearchProblem& problem, std::int64_t moves_per_sweep, int num_workers
);

// Proposals a sample that a chain will get, of the sweeps or, roughly, of the time limit.
[[nodiscard]] double expected_moves_per_sample(
    const SearchOptions& search,
    const SearchProblem& problem,
    std::int64_t moves_per_sweep,
    int num_workers
);

// Bounds of a round of annealing, relative to the mean |energy change| of a random move.
struct TemperatureRange {
  double first = 0.0;
  double last = 0.0;
};

// From few moves a sample, nearly a descent, to many, a hot start: a hot start pays only where
// there is time to cool.
[[nodiscard]] TemperatureRange choose_temperatures(double moves_per_sample);

}  // namespace routepack
