// Which experts to move when the layout is fixed: the ways of all layers, found on all ranks, and
// the best choice over layers for a number of moved experts.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "placement/moving/choose_migrations.hpp"
#include "planner/block_demand.hpp"
#include "routepack/layout.hpp"
#include "routepack/options.hpp"
#include "routepack/window.hpp"

namespace routepack {

// Layers are dealt over ranks and threads; the results are the same at any number of either.
class LayoutMigration {
 public:
  // Collective. Knows of each layer how to stay at options.current_placement, which must be there
  // and, as the communicator, outlive it.
  LayoutMigration(
      const WindowSlice& slice,
      const CellLayout& layout,
      const PlanOptions& options,
      int num_threads,
      const Communicator& comm
  );

  // Collective. Adds the swap trajectories from the current placement, and free placement. Layers
  // that a rank does not reach within `seconds` stay as they are.
  void trace(double seconds = std::numeric_limits<double>::infinity());
  // Collective. Adds what a search at a price finds around `start`. Calls with another `round` draw
  // anew.
  void search_near(const Placement& start, std::int64_t price, std::uint32_t round);

  // The best choice for each budget of moved experts. The same on every rank.
  [[nodiscard]] std::vector<MigrationChoice> choose(std::span<const std::int64_t> budgets) const;
  // What a moved expert more or less changes, near such a number of them: pairs of Σ of peaks, at
  // least 1.
  [[nodiscard]] std::int64_t price_at(std::int64_t moved) const;

 private:
  template <class Visit>
  void for_each_layer(const Visit& visit);
  void share();

  const PlanOptions& options_;
  const Placement& current_;
  int num_blocks_;
  int num_threads_;
  const Communicator& comm_;
  std::vector<LayerBlocks> blocks_;   // of this rank's layers
  std::vector<SwapTrajectory> mine_;  // the same layers
  IndexVector<MoeLayer, SwapTrajectory> all_;
};

}  // namespace routepack
