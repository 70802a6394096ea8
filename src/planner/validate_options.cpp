#include "planner/validate_options.hpp"

#include <cmath>

#include "base/check.hpp"

namespace routepack {
namespace {

void check_least(std::int64_t value, std::int64_t least, const char* name) {
  RP_CHECK(
      value >= least, ErrorCode::kNumberOutOfRange, "{} is {}, at least {}", name, value, least
  );
}

void check_real(double value, const char* name) {
  RP_CHECK(
      std::isfinite(value) && value >= 0.0, ErrorCode::kNumberOutOfRange,
      "{} is {}, it must be finite and not negative", name, value
  );
}

void check_search(const SearchOptions& search) {
  check_least(search.num_chains, 0, "num_chains");
  check_least(search.num_sweeps, 0, "num_sweeps");
  check_least(search.num_threads, 0, "num_threads");
  check_real(search.time_limit_seconds, "time_limit_seconds");
  check_real(search.target_gap, "target_gap");
  check_real(search.seconds_spent, "seconds_spent");
}

void check_constraints(const Constraints& constraints, std::int64_t capacity_tokens) {
  check_least(constraints.max_samples_per_cell, 0, "max_samples_per_cell");
  check_least(constraints.cell_pad_multiple, 1, "cell_pad_multiple");
  RP_CHECK(
      capacity_tokens % constraints.cell_pad_multiple == 0, ErrorCode::kUsage,
      "the capacity of {} tokens is no multiple of the cell pad multiple {}", capacity_tokens,
      constraints.cell_pad_multiple
  );
}

void check_placement(const PlanOptions& options, const WindowShape& window) {
  const MigrationOptions& migration = options.migration;
  check_real(migration.cost_per_expert, "cost_per_expert");
  check_least(migration.horizon_steps, 1, "horizon_steps");
  check_least(migration.bytes_per_expert, 0, "bytes_per_expert");
  RP_CHECK(
      migration.max_moved_fraction >= 0.0 && migration.max_moved_fraction <= 1.0,
      ErrorCode::kNumberOutOfRange, "max_moved_fraction is {}, allowed are 0 to 1",
      migration.max_moved_fraction
  );
  const PlacementChoice choice = options.constraints.placement;
  const bool limits_moves = migration.max_moved_fraction < 1.0 || migration.cost_per_expert > 0.0;
  RP_CHECK(
      choice == PlacementChoice::kFree || !limits_moves, ErrorCode::kUsage,
      "a limit or price on moving experts is given, and a placement that does not move"
  );
  if (options.current_placement) {
    RP_CHECK(
        choice != PlacementChoice::kIdentity, ErrorCode::kUsage,
        "a current placement is given, and the identity asked for"
    );
    RP_CHECK(
        options.current_placement->ep == options.topology.ep, ErrorCode::kTopologyMismatch,
        "the current placement is for ep = {}, not {}", options.current_placement->ep,
        options.topology.ep
    );
    validate_placement(*options.current_placement, window.num_moe_layers(), window.num_experts);
    return;
  }
  RP_CHECK(
      choice != PlacementChoice::kCurrent, ErrorCode::kUsage,
      "the current placement is to stay, but it is not given"
  );
  RP_CHECK(
      !limits_moves, ErrorCode::kUsage,
      "a limit or price on moving experts needs the current "
      "placement"
  );
}

}  // namespace

void validate_options(const PlanOptions& options, const WindowShape& window) {
  validate_topology(options.topology, window.num_experts);
  validate_cost(options.cost);
  check_least(options.row_multiple, 1, "row_multiple");
  check_least(options.pad_multiple, 1, "pad_multiple");
  check_search(options.search);
  check_constraints(options.constraints, options.cost.capacity_tokens);
  check_placement(options, window);
}

}  // namespace routepack
