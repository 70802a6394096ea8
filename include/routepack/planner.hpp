// The planner: one call, collective over MPI, from a window to a certified plan.
#pragma once

#include <mpi.h>

#include <functional>
#include <string>

#include "routepack/options.hpp"
#include "routepack/plan.hpp"
#include "routepack/window.hpp"

namespace routepack {

// What the root is told after every stage of the search.
struct SearchProgress {
  std::string phase;  // "anneal" or "re-anneal"
  int stage = 0;      // done, of num_stages of this phase
  int num_stages = 0;
  double temperature = 0.0;  // in cost units
  double best = 0.0;         // max_shard so far
  double gap = 0.0;          // of best over the lower bound
  double moves_per_second = 0.0;
  double seconds = 0.0;  // since make_plan was called
};

// What its functions throw is dropped.
struct PlanObserver {
  std::function<void(const SearchProgress&)> progress;  // may be empty; called on the root only
  std::function<void(const std::string& line)> log;     // one line a phase; root only
};

// Collective: every rank of `comm` passes its slice of the window and equal options, and gets the
// same plan. The plan is checked before it is returned and depends on the window, the options and
// the seed alone, unless a time limit ended the search (plan.time_limited()).
// Throws Error, the same on every rank: INPUT_DISAGREEMENT, naming the option and two ranks, where
// ranks pass different options or windows; NUMBER_OUT_OF_RANGE and USAGE for what no plan can be
// made from.
[[nodiscard]] Plan make_plan(
    const WindowSlice& slice,
    const PlanOptions& options,
    MPI_Comm comm,
    const PlanObserver& observer = {}
);

}  // namespace routepack
