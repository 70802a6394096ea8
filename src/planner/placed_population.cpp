#include "planner/placed_population.hpp"

#include <algorithm>
#include <utility>

#include "comm/agreement.hpp"

namespace routepack {

PlacedWindow::PlacedWindow(
    const WindowSlice& slice,
    const PaddedLengths& padded,
    const PlanOptions& options,
    int num_rows,
    Placement placement,
    const Communicator& node,
    const Communicator& comm
)
    : placement_(std::move(placement)),
      projected_(project_demand(slice, placement_, node, comm)),
      problem_(agree_on(
          [&] {
            return make_search_problem(
                padded, projected_.view(), options.topology, options.cost,
                cell_rules(options, slice.shape.top_k), num_rows
            );
          },
          comm
      )) {}

PlacedPopulation::PlacedPopulation(
    Placed placed,
    const Population::MakeStart& make_start,
    const PopulationOptions& options,
    const TemperatureRange& range,
    const Tuning& tuning,
    const Communicator& comm
)
    : placed_(std::move(placed)),
      population_(placed_->problem(), make_start, options, tuning, comm),
      range_(range),
      scale_(static_cast<double>(population_.mean_change())) {}

void PlacedPopulation::anneal(
    const Tuning::Turn& turn, Round round, const Stopwatch& clock, const Population::Report& report
) {
  round.first_temperature = static_cast<std::int64_t>(range_.first * turn.heat * scale_);
  round.last_temperature =
      std::min(round.first_temperature, static_cast<std::int64_t>(range_.last * scale_));
  round.num_stages = turn.num_stages;
  population_.anneal(round, clock, report);
}

void PlacedPopulation::move_to(Placed placed) {
  population_.rebase(placed->problem());  // first: the old problem goes with the old placement
  placed_ = std::move(placed);
}

void PlacedPopulation::offer(
    Placed offered,
    const std::function<bool(const SearchScore& there, const SearchScore& here)>& is_better
) {
  const SearchScore here = best_score();
  const Placed before = placed_;
  move_to(std::move(offered));
  if (!is_better(best_score(), here)) {
    move_to(before);
  }
}

}  // namespace routepack
