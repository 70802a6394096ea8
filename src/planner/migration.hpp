// Placement where moving experts has a price or a limit: what the user asked, and which experts
// move for the aggregate demand.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/moving/choose_migrations.hpp"
#include "routepack/options.hpp"
#include "routepack/window.hpp"

namespace routepack {

// What the user wants of a migration, in the terms of the search.
struct MigrationTerms {
  std::int64_t max_moved = 0;  // experts of all layers
  double price_pairs = 0.0;    // pairs of Σ of peaks that a moved expert must save
  bool is_free = true;         // neither limit nor price
};

// The price is per step: cost_per_expert / horizon_steps in cost units of max_shard, of which a
// pair less at one peak saves expert_weight / (capacity * edp).
[[nodiscard]] MigrationTerms migration_terms(const PlanOptions& options, const WindowShape& window);

// Budgets of moved experts to look at: those of the front, and a finer scale up to the limit.
[[nodiscard]] std::vector<std::int64_t> migration_budgets(
    const Placement& current, const MigrationTerms& terms
);

// The choice with the lowest objective + price * moved experts, ties to fewer moved.
[[nodiscard]] const MigrationChoice& cheapest(
    const std::vector<MigrationChoice>& choices, const MigrationTerms& terms
);

// The placement of the aggregate demand [L, E] within the terms: the objective is Σ of the layers'
// peaks. The same on every rank.
[[nodiscard]] Placement migration_for_demand(
    const std::vector<std::int64_t>& demand,
    const Placement& current,
    const PlanOptions& options,
    const MigrationTerms& terms
);

}  // namespace routepack
