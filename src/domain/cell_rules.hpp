// What a cell may hold beyond its nonempty set of samples, and what it is filled up with.
#pragma once

#include <cstdint>
#include <limits>

#include "routepack/options.hpp"

namespace routepack::domain {

struct CellRules {
  std::int64_t capacity_tokens = 0;  // a sample that is longer must be alone
  int max_samples = std::numeric_limits<int>::max();
  bool equal_slots = false;         // every DP slot has as many samples over all rows
  std::int64_t pad_multiple = 1;    // of a cell's tokens; divides the capacity
  std::int64_t pairs_per_fill = 0;  // routed pairs of a fill token at every MoE layer
  bool operator==(const CellRules&) const = default;

  [[nodiscard]] bool may_hold(std::int64_t tokens, std::int64_t samples) const {
    return samples >= 1 && samples <= max_samples && (tokens <= capacity_tokens || samples == 1);
  }
  // Whether layouts are bound by more than the capacity.
  [[nodiscard]] bool limit_counts() const {
    return equal_slots || max_samples < std::numeric_limits<int>::max();
  }
  // Tokens that a cell with `tokens` of samples is filled up with.
  [[nodiscard]] std::int64_t fill_of(std::int64_t tokens) const {
    return pad_multiple == 1 ? 0 : (pad_multiple - tokens % pad_multiple) % pad_multiple;
  }
  // Pairs of `fill` tokens of one cell that EP rank `ep_rank` of `ep` gets at each layer: pair i
  // goes to rank i mod ep.
  [[nodiscard]] std::int64_t fill_pairs(std::int64_t fill, int ep_rank, int ep) const {
    const std::int64_t pairs = fill * pairs_per_fill;
    return pairs / ep + (ep_rank < pairs % ep ? 1 : 0);
  }
};

[[nodiscard]] inline CellRules cell_rules(const PlanOptions& options, int top_k) {
  const Constraints& asked = options.constraints;
  CellRules rules;
  rules.capacity_tokens = options.cost.capacity_tokens;
  if (asked.max_samples_per_cell > 0) {
    rules.max_samples = asked.max_samples_per_cell;
  }
  rules.equal_slots = asked.samples_per_slot == SamplesPerSlot::kEqual;
  rules.pad_multiple = asked.cell_pad_multiple;
  rules.pairs_per_fill = asked.pad_routes == PadRoutes::kSpread ? top_k : 0;
  return rules;
}

}  // namespace routepack::domain
