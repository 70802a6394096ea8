// Placement where moving experts has a price or a limit: what the user asked; and with the layout
// fixed which experts to move, the ways of all layers found over all ranks and the best choice over
// layers for a number of moved experts.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "domain/tuning.hpp"
#include "placement/moving/choose_migrations.hpp"
#include "planner/block_placement.hpp"
#include "routepack/layout.hpp"
#include "routepack/options.hpp"
#include "routepack/window.hpp"

namespace routepack::planner {

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
    const Placement& current, const MigrationTerms& terms, const domain::Tuning::Migration& tuning
);

// The choice with the lowest objective + price * moved experts, ties to fewer moved.
[[nodiscard]] const placement::MigrationChoice& cheapest(
    const std::vector<placement::MigrationChoice>& choices, const MigrationTerms& terms
);

// Layers are dealt over ranks and threads; the results are the same at any number of either.
class LayoutMigration {
 public:
  // Collective. Knows of each layer how to stay at options.current_placement, which must be there
  // and outlive it, as the tuning and the communicator must.
  LayoutMigration(
      const WindowSlice& slice,
      const CellLayout& layout,
      const PlanOptions& options,
      const domain::Tuning& tuning,
      int num_threads,
      const comm::Communicator& comm
  );

  // Collective. Adds the swap trajectories from the current placement, and free placement. Layers
  // that a rank does not reach within `seconds` stay as they are.
  void trace(double seconds = std::numeric_limits<double>::infinity());
  // Collective. Adds what a search at a price finds around `start`. Calls with another `round` draw
  // anew.
  void search_near(const Placement& start, std::int64_t price, std::uint32_t round);

  // The best choice for each budget of moved experts. The same on every rank.
  [[nodiscard]] std::vector<placement::MigrationChoice> choose(std::span<const std::int64_t> budgets
  ) const;
  // What a moved expert more or less changes, near such a number of them: pairs of Σ of peaks, at
  // least 1.
  [[nodiscard]] std::int64_t price_at(std::int64_t moved) const;

 private:
  template <class Visit>
  void for_each_layer(const Visit& visit);
  void share();

  const PlanOptions& options_;
  const domain::Tuning& tuning_;
  const Placement& current_;
  int num_blocks_;
  int num_threads_;
  const comm::Communicator& comm_;
  std::vector<LayerBlocks> blocks_;              // of this rank's layers
  std::vector<placement::SwapTrajectory> mine_;  // the same layers
  IndexVector<MoeLayer, placement::SwapTrajectory> all_;
};

}  // namespace routepack::planner
