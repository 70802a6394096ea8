// Routing demand of a whole window: exact 64-bit counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "routepack/ids.hpp"

namespace routepack {

// Routed (token, expert) pairs of each expert of each MoE layer.
struct Demand {
  int num_layers = 0;
  int num_experts = 0;
  std::vector<std::int64_t> pairs;  // [num_layers, num_experts]

  // The experts of one layer.
  [[nodiscard]] std::span<const std::int64_t> of(MoeLayer layer) const {
    const auto experts = static_cast<std::size_t>(num_experts);
    return std::span(pairs).subspan(layer.offset() * experts, experts);
  }
};

// The window's demand, with what it was counted from.
struct WindowDemand {
  Demand demand;
  std::int64_t num_samples = 0;
  std::int64_t total_tokens = 0;  // unpadded
  std::int64_t unrouted_tokens = 0;
};

}  // namespace routepack
