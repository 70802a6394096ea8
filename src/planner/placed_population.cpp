#include "planner/placed_population.hpp"

#include <algorithm>
#include <utility>

#include "comm/agreement.hpp"

namespace routepack::planner {

PlacedWindow::PlacedWindow(
    const WindowSlice& slice,
    const packing::PaddedLengths& padded,
    const PlanOptions& options,
    int num_rows,
    Placement placement,
    const comm::Communicator& node,
    const comm::Communicator& comm
)
    : placement_(std::move(placement)),
      projected_(demand::project_demand(slice, placement_, node, comm)),
      problem_(comm::agree_on(
          [&] {
            return objective::make_search_problem(
                padded, projected_.view(), options.topology, options.cost,
                domain::cell_rules(options, slice.shape.top_k), num_rows
            );
          },
          comm
      )) {}

PlacedPopulation::PlacedPopulation(
    Placed placed,
    const annealing::Population::MakeStart& make_start,
    const annealing::PopulationOptions& options,
    const TemperatureRange& range,
    const domain::Tuning& tuning,
    const comm::Communicator& comm
)
    : placed_(std::move(placed)),
      population_(placed_->problem(), make_start, options, tuning, comm),
      range_(range),
      scale_(static_cast<double>(population_.mean_change())) {}

void PlacedPopulation::anneal(
    const domain::Tuning::Turn& turn,
    annealing::Round round,
    const base::Stopwatch& clock,
    const annealing::Population::Report& report
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
    const std::function<
        bool(const objective::SearchScore& there, const objective::SearchScore& here)>& is_better
) {
  const objective::SearchScore here = best_score();
  const Placed before = placed_;
  move_to(std::move(offered));
  if (!is_better(best_score(), here)) {
    move_to(before);
  }
}

}  // namespace routepack::planner
