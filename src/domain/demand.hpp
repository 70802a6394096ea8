// Routing demand of a whole window: exact 64-bit counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "routepack/ids.hpp"

namespace routepack::domain {

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

// Routed pairs of every sample on the EP ranks of a placement: what the search adds and subtracts.
// The view owns nothing, so pure code needs no MPI; the data is node-shared or a plain vector.

// Element ((sample * ep + ep_rank) * padded_layers + layer). Layers are padded to a multiple of
// kLayerPadding with zeros, so that a rank's layers fill whole SIMD registers.
// Exactly one of `narrow` and `wide` holds the data; both are empty where there is none.
struct ProjectedDemandView {
  int num_samples = 0;
  int ep = 1;
  int num_layers = 0;
  int padded_layers = 0;
  std::span<const std::uint16_t> narrow;  // where every element fits 16 bits
  std::span<const std::uint32_t> wide;    // otherwise

  // Elements of a sample.
  [[nodiscard]] std::size_t sample_stride() const {
    return static_cast<std::size_t>(ep) * static_cast<std::size_t>(padded_layers);
  }
};

inline constexpr int kLayerPadding = 16;

[[nodiscard]] constexpr int padded_layer_count(int num_layers) {
  return (num_layers + kLayerPadding - 1) / kLayerPadding * kLayerPadding;
}

// The same with its own memory, in one process; `narrow` or `wide` stays empty.
struct OwnedProjectedDemand {
  int num_samples = 0;
  int ep = 1;
  int num_layers = 0;
  int padded_layers = 0;
  std::vector<std::uint16_t> narrow;
  std::vector<std::uint32_t> wide;

  [[nodiscard]] ProjectedDemandView view() const {
    return {num_samples, ep, num_layers, padded_layers, narrow, wide};
  }
};

}  // namespace routepack::domain
