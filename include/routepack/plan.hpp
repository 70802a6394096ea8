// The answer: a placement, a layout, and the proof and figures that go with them (FORMATS: Plan).
#pragma once

#include <cstdint>
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

// The figures of one policy (FORMATS: "Metrics of a policy").
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

struct Plan {
  WindowShape window;
  std::int64_t total_tokens = 0;  // unpadded
  std::int64_t unrouted_tokens = 0;
  Topology topology;
  CostModel cost;
  int row_multiple = 1;
  std::int64_t pad_multiple = 1;
  SearchOptions search;       // as used: nothing left 0 but the time limit
  bool time_limited = false;  // a time limit ended the search: not reproducible
  RowCertificate rows;
  Placement placement;
  CellLayout layout;
  Score objective;
  double lower_bound = 0.0;  // on max_shard, any placement and packing into these rows
  std::string lower_bound_kind;
  PolicyMetrics baseline;
  PolicyMetrics reorder;
  PolicyMetrics routepack;
  std::int64_t moved_experts = 0;  // against the current placement, else against identity
  std::int64_t moved_bytes = 0;
  std::vector<MigrationPoint> migration_front;  // only with a current placement
  std::string digest;                           // of placement, cells and objective; 32 hex digits

  // objective.max_shard / lower_bound - 1, and 0 where the bound is 0.
  [[nodiscard]] double gap() const {
    return lower_bound > 0.0 ? objective.max_shard / lower_bound - 1.0 : 0.0;
  }
};

}  // namespace routepack
