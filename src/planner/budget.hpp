// The effort of a plan: its workers, how much work it gets where the user left that open (a
// function of the window's size, so that the plan stays the same on every machine), and what of it
// is spent.
#pragma once

#include <cstdint>

#include "annealing/cooling.hpp"
#include "base/clock.hpp"
#include "comm/communicator.hpp"
#include "domain/tuning.hpp"
#include "objective/search_problem.hpp"
#include "routepack/options.hpp"

namespace routepack::planner {

// Threads of this rank: as asked, but at most four times the node's cores, as more only take
// memory; where `asked` is 0 the node's cores divided by its ranks, within what OpenMP and the
// process's CPU binding allow.
[[nodiscard]] int choose_threads(int asked, const comm::Communicator& node);

// The widest vector instructions that both the options and this CPU allow.
[[nodiscard]] SimdLevel choose_simd(const SearchOptions& asked);

// Fills in the population size and the sweeps. With a time limit and no population size given,
// every worker (`num_workers` threads over all ranks) runs one chain.
[[nodiscard]] SearchOptions complete_options(
    SearchOptions asked,
    const objective::SearchProblem& problem,
    const domain::Tuning& tuning,
    int num_workers
);

// Bounds of a round of annealing, relative to the mean |energy change| of a random move.
struct TemperatureRange {
  double first = 0.0;
  double last = 0.0;
};

// From few moves a sample, of the sweeps or, roughly, of the time limit, nearly a descent, to many,
// a hot start: a hot start pays only where there is time to cool.
[[nodiscard]] TemperatureRange choose_temperatures(
    const SearchOptions& search,
    const objective::SearchProblem& problem,
    const domain::Tuning& tuning,
    int num_workers
);

// What a search may spend and has spent: sweeps, or time where that is limited. Times are the
// root's, whatever the other ranks measure; so what they decide is broadcast.
class Budget {
 public:
  // `search` is complete; `seconds_spent` and `clock` count from the start of the program and of
  // the search.
  Budget(
      const SearchOptions& search,
      double seconds_spent,
      const base::Stopwatch& clock,
      const domain::Tuning& tuning
  );

  [[nodiscard]] const SearchOptions& search() const { return search_; }
  [[nodiscard]] const base::Stopwatch& clock() const { return clock_; }
  [[nodiscard]] bool is_timed() const { return search_.time_limit_seconds > 0.0; }
  // That share of the time limit; without one, infinity.
  [[nodiscard]] double seconds_of(double time_share) const;

  // Spends `share` of the whole on annealing: sweeps or deadline of a round, its temperatures open.
  // Placements take their time from what later rounds get.
  [[nodiscard]] annealing::Round spend(double share);

  // Collective. Proposed swaps a layer of the next placement of `num_layers`, `chain_moves` being
  // the proposals of a chain in all sweeps.
  [[nodiscard]] std::int64_t swaps_per_layer(
      const domain::Tuning::PlacementTurn& turn,
      std::int64_t chain_moves,
      int num_layers,
      const comm::Communicator& comm
  ) const;
  // A placement for the layout took from `started` until now.
  void note_placement(double started);
  // So many swaps a layer did.
  void note_swaps(double started, std::int64_t swaps_per_layer);
  // The number of a placement for the layout, for its random draws: each another.
  [[nodiscard]] std::uint32_t next_placement() { return placements_++; }

  // Collective. Whether the longest placement so far would leave most of what is left of the time
  // limit, if there is one.
  [[nodiscard]] bool has_time_to_place(const comm::Communicator& comm) const;
  // Collective. Whether another search as long as the one since `started` fits a share of the time
  // limit, if there is one.
  [[nodiscard]] bool affords_another(
      double started, double time_share, const comm::Communicator& comm
  ) const;

 private:
  // Of the time limit, for this search.
  [[nodiscard]] double usable_seconds() const;

  SearchOptions search_;
  double seconds_before_;
  base::Stopwatch clock_;
  double share_after_;  // of the time limit, for what follows the search
  double placing_share_;
  domain::Tuning::Placing placing_;
  double spent_ = 0.0;             // of the annealing, a share
  double placing_seconds_ = 0.0;   // the longest placement so far
  double seconds_per_swap_ = 0.0;  // a layer, of all layers, at the last placement; 0: not known
  std::uint32_t placements_ = 0;
};

}  // namespace routepack::planner
