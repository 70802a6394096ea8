// The answer: a placement, a layout, and the proof and figures that go with them (docs/formats.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "routepack/certificate.hpp"
#include "routepack/cost.hpp"
#include "routepack/layout.hpp"
#include "routepack/options.hpp"
#include "routepack/placement.hpp"
#include "routepack/topology.hpp"
#include "routepack/window.hpp"

namespace routepack {

// The figures of one policy (docs/formats.md, "Metrics").
struct PolicyMetrics {
  Score score;
  int rows = 0;
  double attention = 0.0;              // Σ A over (row, shard)
  double ep_peak_sum = 0.0;            // Σ E over (row, shard)
  double tail_peak = 0.0;              // max over (row, shard, layer) of the peak, by capacity
  double ep_balance_efficiency = 1.0;  // Σ mean W / Σ max W
  double cv_global = 0.0;              // mean over layers of std/mean of the EP ranks' totals
};

// A point of the trade between moving experts and finishing early.
struct MigrationPoint {
  double max_moved_fraction = 0.0;
  std::int64_t moved_experts = 0;
  double max_shard = 0.0;
};

// Why the search ended.
enum class SearchEnd {
  kProved,  // nothing can be better: the bound is reached, or all layouts have been looked at
  kGap,     // within SearchOptions::target_gap of the bound
  kBudget,  // the sweeps are done
  kTime,    // the time limit is over: not reproducible
};

// Lower bounds on max_shard for any packing into the plan's rows and any placement that the
// constraints allow.
struct ShardBound {
  double max_shard = 0.0;
  // The same as if every layer's load could be spread evenly over the EP ranks, as with copies of
  // experts: the mean load. What lies between the two is lost to experts that cannot be split.
  double balanced = 0.0;
  // Of the experts' time in max_shard, the share that is lost so.
  double hot_expert_loss = 0.0;
  std::string kind;
};

struct Plan {
  WindowShape window;
  std::int64_t total_tokens = 0;  // unpadded
  std::int64_t unrouted_tokens = 0;
  Topology topology;
  CostModel cost;
  int row_multiple = 1;
  std::int64_t pad_multiple = 1;
  Constraints constraints;
  std::vector<SampleId> oversized;  // over the capacity, each alone in its cell; ascending
  SearchOptions search;             // as used; without a search (tiny windows) no sweeps
  SearchEnd ended = SearchEnd::kBudget;
  RowCertificate rows;
  Placement placement;
  CellLayout layout;
  Score objective;
  ShardBound lower_bound;
  PolicyMetrics baseline;
  PolicyMetrics reorder;
  PolicyMetrics routepack;
  std::int64_t moved_experts = 0;           // against the current placement, else against identity
  std::optional<std::int64_t> moved_bytes;  // empty where an expert's bytes are not known
  std::vector<MigrationPoint> migration_front;  // only with a current placement
  std::string digest;                           // of placement, cells and objective; 32 hex digits

  // objective.max_shard / bound - 1, and 0 where the bound is 0.
  [[nodiscard]] double gap() const { return gap_to(lower_bound.max_shard); }
  [[nodiscard]] double gap_to_balanced() const { return gap_to(lower_bound.balanced); }
  // With a time limit another run may end elsewhere, whatever ended this one.
  [[nodiscard]] bool time_limited() const { return search.time_limit_seconds > 0.0; }

 private:
  [[nodiscard]] double gap_to(double bound) const {
    return bound > 0.0 ? objective.max_shard / bound - 1.0 : 0.0;
  }
};

}  // namespace routepack
