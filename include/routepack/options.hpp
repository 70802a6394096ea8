// Everything that decides a plan, beside the window itself. Defaults in place.
#pragma once

#include <cstdint>
#include <optional>

#include "routepack/cost.hpp"
#include "routepack/placement.hpp"
#include "routepack/simd.hpp"
#include "routepack/topology.hpp"

namespace routepack {

// What the trainer asks of a plan beyond its capacity (docs/formats.md, "Constraints").
enum class SamplesPerSlot { kAny, kEqual };                 // over all rows, of every DP slot
enum class Oversize { kError, kOwnRow };                    // a sample over the capacity
enum class PadRoutes { kNone, kSpread };                    // what the fill of a cell is routed to
enum class PlacementChoice { kFree, kCurrent, kIdentity };  // which placements a plan may have

struct Constraints {
  SamplesPerSlot samples_per_slot = SamplesPerSlot::kAny;
  Oversize oversize = Oversize::kError;  // kOwnRow: it is alone in its cell
  int max_samples_per_cell = 0;          // 0: no limit
  std::int64_t cell_pad_multiple = 1;    // a cell is filled up to a multiple; divides the capacity
  PadRoutes pad_routes = PadRoutes::kNone;
  PlacementChoice placement = PlacementChoice::kFree;
  bool operator==(const Constraints&) const = default;
};

struct SearchOptions {
  std::uint64_t seed = 1;
  int num_chains = 0;               // P, population size; 0: chosen from the window's size
  std::int64_t num_sweeps = 0;      // K, work budget of a chain; 0: chosen from the window's size
  double time_limit_seconds = 0.0;  // 0: none
  double target_gap = 0.0;          // good enough: max_shard / lower bound - 1; 0: only if proved
  int num_threads = 0;  // a rank, at most 4 * the node's cores; 0: the cores divided by its ranks
  SimdLevel max_simd = SimdLevel::kAvx512;  // at most this, as far as the CPU has it
};

// What moving experts costs (only with a current placement).
struct MigrationOptions {
  double cost_per_expert = 0.0;       // in cost units of max_shard, for a single step
  std::int64_t horizon_steps = 1;     // steps that a placement serves
  double max_moved_fraction = 1.0;    // of all (layer, expert) pairs
  std::int64_t bytes_per_expert = 0;  // for the report; 0: unknown
};

struct PlanOptions {
  Topology topology;
  CostModel cost;  // its capacity_tokens is C
  int row_multiple = 1;
  std::int64_t pad_multiple = 1;
  Constraints constraints;
  SearchOptions search;
  MigrationOptions migration;
  std::optional<Placement> current_placement;
};

}  // namespace routepack
