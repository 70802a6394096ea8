// What a layout costs (docs/formats.md, "Costs"): attention stages in units of a cell's fill,
// experts in routed pairs per capacity.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace routepack {

// A stage of equal attention layers: cost alpha * Σ len/C + beta * Σ (len/C)² of a cell.
struct AttentionStage {
  std::string name = "full";
  double alpha = 0.0;
  double beta = 0.0;
  bool operator==(const AttentionStage&) const = default;
};

struct CostModel {
  std::int64_t capacity_tokens = 0;  // C
  std::vector<AttentionStage> stages;
  double expert_weight = 1.0;
  bool operator==(const CostModel&) const = default;
};

// Throws NUMBER_OUT_OF_RANGE for a capacity below 1 and for coefficients other than 0
// outside 1e-100 to 1e100.
void validate_cost(const CostModel& cost);

// Compared lexicographically, smaller is better.
struct Score {
  double max_shard = 0.0;   // max_g U[g]
  double sum_shards = 0.0;  // Σ_g U[g]
  double max_row = 0.0;     // max_{r,g} J[r,g]
  auto operator<=>(const Score&) const = default;
};

}  // namespace routepack
