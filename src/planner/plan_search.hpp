// The state of a search and its steps; search.hpp is what the planner calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "annealing/population.hpp"
#include "planner/effort.hpp"
#include "planner/placed_window.hpp"
#include "planner/search.hpp"

namespace routepack {

// A stretch of annealing. Budgets are shares of the whole search, in sweeps or in time.
struct Turn {
  double budget_end;  // where it ends
  double heat;        // first temperature, relative to the range that the effort allows
  int num_stages;
};

// Every method is collective.
class PlanSearch {
 public:
  PlanSearch(const SearchInput& input, const PlanObserver& observer, const Communicator& comm);

  // Anneals and re-places the experts in turns, until `share` of the budget is spent.
  void run_turns(double share);
  // What other limits on moving experts would give, from `spent` to the end of the budget. A
  // point within the terms that beats the plan becomes the plan.
  [[nodiscard]] std::vector<MigrationPoint> trace_front(double spent);
  // The plan, polished.
  [[nodiscard]] SearchOutput result(std::vector<MigrationPoint> front) const;

 private:
  using Placed = std::unique_ptr<PlacedWindow>;
  [[nodiscard]] int num_workers() const;
  [[nodiscard]] Placed place(Placement placement) const;
  void anneal(const Turn& turn, double begin);
  void tell(const StageReport& stage) const;
  [[nodiscard]] Placement place_for_layout();
  void offer(Placement placement);
  [[nodiscard]] double cost_of(const SearchScore& score) const;
  [[nodiscard]] double price_of(const Placement& placement) const;

  const SearchInput& input_;
  const PlanObserver& observer_;
  const Communicator& comm_;
  Stopwatch clock_;
  Communicator node_;
  int threads_;
  Placed placed_;
  SearchOptions search_;
  Population population_;
  double scale_;                  // mean |energy change| of a random move, in units
  TemperatureRange range_;        // relative to the scale
  CellLayout layout_;             // the best under placed_
  double placing_seconds_ = 0.0;  // the longest so far
  std::string phase_ = "anneal";
};

}  // namespace routepack
