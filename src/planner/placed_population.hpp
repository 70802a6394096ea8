// A placement with everything that depends on it, and the population that anneals layouts under it.
#pragma once

#include <functional>
#include <memory>

#include "annealing/population.hpp"
#include "demand/reduce.hpp"
#include "domain/tuning.hpp"
#include "objective/search_problem.hpp"
#include "packing/lengths.hpp"
#include "planner/budget.hpp"
#include "routepack/options.hpp"
#include "routepack/placement.hpp"
#include "routepack/window.hpp"

namespace routepack::planner {

// A placement, the samples' demand on its EP ranks, and the layout problem.
class PlacedWindow {
 public:
  // Collective over `comm`; `node` is its split_by_node().
  PlacedWindow(
      const WindowSlice& slice,
      const packing::PaddedLengths& padded,
      const PlanOptions& options,
      int num_rows,
      Placement placement,
      const comm::Communicator& node,
      const comm::Communicator& comm
  );
  PlacedWindow(const PlacedWindow&) = delete;  // the problem points into the projection
  PlacedWindow& operator=(const PlacedWindow&) = delete;

  [[nodiscard]] const Placement& placement() const { return placement_; }
  [[nodiscard]] const objective::SearchProblem& problem() const { return problem_; }

 private:
  Placement placement_;
  demand::ProjectedDemand projected_;
  objective::SearchProblem problem_;
};

// Shared by all who may go on with it: it is the costliest thing that a search keeps.
using Placed = std::shared_ptr<const PlacedWindow>;

// A plan that a search has met.
struct Candidate {
  Placed placed;
  CellLayout layout;
  objective::SearchScore score;

  [[nodiscard]] const Placement& placement() const { return placed->placement(); }
};

// The population of a search and what it anneals under: never one without the other. Layouts and
// the best one stay when the placement changes, their costs are new. What is not const is
// collective.
class PlacedPopulation {
 public:
  PlacedPopulation(
      Placed placed,
      const annealing::Population::MakeStart& make_start,
      const annealing::PopulationOptions& options,
      const TemperatureRange& range,
      const domain::Tuning& tuning,
      const comm::Communicator& comm
  );

  [[nodiscard]] const Placed& placed() const { return placed_; }
  [[nodiscard]] const Placement& placement() const { return placed_->placement(); }
  [[nodiscard]] const objective::SearchProblem& problem() const { return placed_->problem(); }
  [[nodiscard]] const objective::SearchScore& best_score() const {
    return population_.best_score();
  }
  // Collective.
  [[nodiscard]] CellLayout best_layout() const { return population_.best_layout(); }
  [[nodiscard]] Candidate best() const { return {placed_, best_layout(), best_score()}; }
  [[nodiscard]] std::int64_t sweeps_done() const { return population_.sweeps_done(); }

  // Anneals at the turn's temperatures, for the sweeps or until the deadline of `round`.
  void anneal(
      const domain::Tuning::Turn& turn,
      annealing::Round round,
      const base::Stopwatch& clock,
      const annealing::Population::Report& report
  );

  void move_to(Placed placed);
  // Goes on under `offered` if `is_better` says so of the best layout's score there and here.
  void offer(
      Placed offered,
      const std::function<
          bool(const objective::SearchScore& there, const objective::SearchScore& here)>& is_better
  );
  // All chains continue from one layout; the best one stays.
  void restart_from(const CellLayout& layout) { population_.restart_from(layout); }
  // The same, and that layout is the only one met.
  void start_over(const CellLayout& layout) { population_.start_over(layout); }

 private:
  Placed placed_;  // before the population, which points into it
  annealing::Population population_;
  TemperatureRange range_;  // relative to the scale
  double scale_;            // mean |energy change| of a random move, in units
};

}  // namespace routepack::planner
