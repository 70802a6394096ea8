// The one place where lengths become attention cost.
#pragma once

#include <cstdint>

#include "routepack/cost.hpp"

namespace routepack::objective {

// A cell's cost in one stage, from its tokens (fill included) and the sum of its samples' squared
// lengths: alpha * Σ len/C + beta * Σ (len/C)².
[[nodiscard]] inline double attention_cost(
    const AttentionStage& stage,
    std::int64_t tokens,
    std::int64_t squared_tokens,
    std::int64_t capacity_tokens
) {
  const auto capacity = static_cast<double>(capacity_tokens);
  const double fill = static_cast<double>(tokens) / capacity;
  const double squared_fill = static_cast<double>(squared_tokens) / capacity / capacity;
  return stage.alpha * fill + stage.beta * squared_fill;
}

// The same of a sample alone. The squared length must fit 64 bits (check_squared_lengths).
[[nodiscard]] inline double attention_cost(
    const AttentionStage& stage, std::int64_t length, std::int64_t capacity_tokens
) {
  return attention_cost(stage, length, length * length, capacity_tokens);
}

}  // namespace routepack::objective
