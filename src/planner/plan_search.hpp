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

// A stretch of annealing.
struct Turn {
  double budget;  // share of the sweeps or of the time
  double heat;    // first temperature, relative to the range that the effort allows
  int num_stages;
};

// A placement for the layout that a stretch of annealing found.
struct PlacementTurn {
  std::int64_t moves_per_layer;  // where the plan is to be reproducible
  double time_share;             // of a time limit
};

// Every method is collective.
class PlanSearch {
 public:
  PlanSearch(const SearchInput& input, const PlanObserver& observer, const Communicator& comm);

  // Anneals and re-places the experts in turns, with `share` of the budget.
  void run_turns(double share);
  // What other limits on moving experts would give, with `share` of the budget. A point within the
  // terms that beats the plan, the price of moving counted in, becomes the plan.
  [[nodiscard]] std::vector<MigrationPoint> trace_front(double share);
  // The plan, polished.
  [[nodiscard]] SearchOutput result(std::vector<MigrationPoint> front) const;

 private:
  using Placed = std::shared_ptr<const PlacedWindow>;
  [[nodiscard]] int num_workers() const;
  [[nodiscard]] Placed place(Placement placement) const;
  void explore(double share);
  // Whether the best score is as good as it has to be: at the bound, or within the target gap.
  [[nodiscard]] bool is_good_enough() const;
  [[nodiscard]] bool places_experts() const;
  // Whether all plans cost the same, so that any is the best.
  [[nodiscard]] bool plans_are_alike() const;
  [[nodiscard]] SearchEnd end_of_search() const;
  // With turn.budget * share of the whole budget.
  void anneal(const Turn& turn, double share);
  void move_to(Placed placed);
  void tell(const StageReport& stage) const;
  [[nodiscard]] std::int64_t moves_per_layer(const PlacementTurn& turn) const;
  [[nodiscard]] Placement place_for_layout(const PlacementTurn& turn);
  [[nodiscard]] Placement anneal_placement(const PlacementTurn& turn);
  [[nodiscard]] Placement migrate_for_layout(const PlacementTurn& turn);
  [[nodiscard]] double seconds_of(double time_share) const;
  // Whether the longest placement so far would leave most of what is left of the time limit, if
  // there is one. The root's clock decides for all.
  [[nodiscard]] bool has_time_to_migrate() const;
  // Whether another search as long as the one since `started` fits a share of the time limit, if
  // there is one. The root's clock decides for all.
  [[nodiscard]] bool affords_another(double started, double time_share) const;
  // Places the experts for the layout, at most `budget` of them moved, if that lowers max_shard.
  void settle_placement(std::int64_t budget, std::int64_t price);
  void improve_placement(const PlacementTurn& turn);
  [[nodiscard]] double cost_of(const SearchScore& score) const;
  [[nodiscard]] double price_of(const Placement& placement) const;
  [[nodiscard]] double total_of(const SearchScore& score, const Placement& placement) const;
  // Less in total, and no plan that was at least as good as `reorder` gets worse than that.
  [[nodiscard]] bool gains(
      const SearchScore& score,
      const Placement& placement,
      const SearchScore& old_score,
      const Placement& old_placement
  ) const;

  const SearchInput& input_;
  const PlanObserver& observer_;
  const Communicator& comm_;
  Stopwatch clock_;
  Communicator node_;
  int threads_;
  Acceptance acceptance_;
  Placed placed_;
  std::int64_t proved_;   // max_shard in units that is at the lower bound, rounding allowed for
  std::int64_t enough_;   // max_shard in units that ends the search
  std::int64_t reorder_;  // max_shard of that policy in units; INT64_MAX where it has other rows
  SearchOptions search_;
  Population population_;
  double scale_;                   // mean |energy change| of a random move, in units
  TemperatureRange range_;         // relative to the scale
  CellLayout layout_;              // the best under placed_
  double placing_seconds_ = 0.0;   // the longest so far
  double seconds_per_move_ = 0.0;  // of all layers, at the last placement; 0: not yet known
  std::uint32_t placements_ = 0;
  double spent_ = 0.0;  // of the budget, a share
  std::string phase_ = "explore";
};

}  // namespace routepack
