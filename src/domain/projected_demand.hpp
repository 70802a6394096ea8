// Demand of every sample on every EP rank, through a placement, with the layers in SIMD lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace routepack {

// Layers are padded to a multiple of this, so that a vector of 16 lanes never straddles EP ranks.
inline constexpr int kLayerLanes = 16;

// Element ((sample * ep + ep_rank) * padded_layers + layer), routed pairs; padding layers are 0.
// Exactly one of the two spans is used: `narrow` where every value fits 16 bits, else `wide`.
struct ProjectedDemandView {
  int num_samples = 0;
  int ep = 1;
  int num_layers = 0;
  int padded_layers = 0;
  std::span<const std::uint16_t> narrow;
  std::span<const std::uint32_t> wide;

  [[nodiscard]] std::size_t sample_stride() const {
    return static_cast<std::size_t>(ep) * static_cast<std::size_t>(padded_layers);
  }
};

}  // namespace routepack
