// Which swaps of which layers a budget of moved experts buys.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "placement/moving/trajectory.hpp"
#include "routepack/ids.hpp"
#include "routepack/placement.hpp"

namespace routepack::placement {

// One point of the trade between moving and balance.
struct MigrationChoice {
  std::int64_t max_moved = 0;
  std::int64_t moved_experts = 0;
  std::int64_t objective = 0;  // Σ over layers of the trajectories' objective, in pairs
  Placement placement;
};

// For each budget, in the order given, the choice of one prefix or free placement a layer that
// exactly minimizes Σ of objectives; ties: fewer moved experts. `trajectories` of all layers, each
// from its layer of `current`; no budget negative. O(options * max(budgets)).
[[nodiscard]] std::vector<MigrationChoice> choose_migrations(
    const IndexVector<MoeLayer, SwapTrajectory>& trajectories,
    const Placement& current,
    std::span<const std::int64_t> budgets
);

// The limits on moving that a front shows, as shares of all (layer, expert) pairs.
inline constexpr std::array<double, 7> kFrontFractions = {0.0, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0};

// The same as numbers of experts, rounded down.
[[nodiscard]] std::vector<std::int64_t> front_budgets(const Placement& current);

}  // namespace routepack::placement
