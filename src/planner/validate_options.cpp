#include "planner/validate_options.hpp"

#include "base/check.hpp"

namespace routepack {
namespace {

void check_constraints(const Constraints& constraints, std::int64_t capacity_tokens) {
  RP_CHECK(
      capacity_tokens % constraints.cell_pad_multiple == 0, ErrorCode::kUsage,
      "the capacity of {} tokens is no multiple of the cell pad multiple {}", capacity_tokens,
      constraints.cell_pad_multiple
  );
}

void check_placement(const PlanOptions& options, const WindowShape& window) {
  const MigrationOptions& migration = options.migration;
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
      "a limit or price on moving experts needs the current placement"
  );
}

}  // namespace

void validate_options(const PlanOptions& options, const WindowShape& window) {
  validate_topology(options.topology, window.num_experts);
  validate_cost(options.cost);
  check_constraints(options.constraints, options.cost.capacity_tokens);
  check_placement(options, window);
}

}  // namespace routepack
