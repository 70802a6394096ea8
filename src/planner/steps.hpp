// The steps that a search is made of: annealing the layout, and placing the experts for it. All are
// collective.
#pragma once

#include "planner/budget.hpp"
#include "planner/context.hpp"
#include "planner/goal.hpp"
#include "planner/migration.hpp"
#include "planner/placed_population.hpp"
#include "random/stream.hpp"

namespace routepack::planner {

// What all steps of a search know.
struct SearchContext {
  const PlanContext& plan;
  const comm::Communicator& node;  // the ranks that share memory
  int num_threads;                 // of this rank
  const random::Acceptance& acceptance;
  const Goal& goal;
};

// A part of the search, with its share of the budget.
struct Phase {
  const char* name;
  double share;
};

// Under that placement.
[[nodiscard]] Placed place(
    const PlanContext& plan, const comm::Communicator& node, Placement placement
);

// A layout to start a chain from: chain 0's is first fit where it has the rows and keeps the rules,
// the others' are of several kinds in turn.
[[nodiscard]] CellLayout make_start(
    const PlanContext& plan, const objective::SearchProblem& problem, ChainId chain
);

// Whether every layout costs the same: a single cell, or a single row and shard of one sample a
// cell.
[[nodiscard]] bool layouts_are_alike(const objective::SearchProblem& problem);

// With turn.share * phase.share of the whole budget.
void anneal(
    const SearchContext& context,
    const Phase& phase,
    const domain::Tuning::Turn& turn,
    Budget& budget,
    PlacedPopulation& population
);

// Goes on with a placement for the best layout, within the terms of the migration, if that gains;
// otherwise with the old one. All chains continue from the layout.
void improve_placement(
    const SearchContext& context,
    const domain::Tuning::PlacementTurn& turn,
    Budget& budget,
    PlacedPopulation& population
);

// For a layout, how experts may move: nothing yet but to stay.
[[nodiscard]] LayoutMigration make_migration(
    const SearchContext& context, const CellLayout& layout
);

}  // namespace routepack::planner
