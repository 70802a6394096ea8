// The placement of one layer on its aggregate demand: lowest peak, then fewest moved experts.
#pragma once

#include <cstdint>
#include <span>

#include "random/stream.hpp"
#include "routepack/placement.hpp"

namespace routepack {

struct PlaceEffort {
  int search_iterations = 100;  // rounds of iterated local search where the bound is not met
  int slack_ppm = 0;            // a peak within so many millionths of the bound is good enough
  int num_threads = 0;          // over layers, in one process; 0: as OpenMP decides
};

struct LayerResult {
  LayerPlacement slots;
  std::int64_t peak = 0;         // pairs on the heaviest EP rank
  std::int64_t lower_bound = 0;  // of any placement with equal slots; equal to peak: optimal
};

// `demand` [E] pairs, none negative, total within int64; E a multiple of ep. Without `current` (a
// permutation of 0 … E-1) experts count as moved against the identity, but nothing is spent on
// moving fewer. A placement that is good enough stays: all-zero and equal loads never move.
// Deterministic: `stream` drives the search, ties go to the lower id.
[[nodiscard]] LayerResult place_layer(
    std::span<const std::int64_t> demand,
    int ep,
    const LayerPlacement* current,
    const PlaceEffort& effort,
    const Stream& stream
);

}  // namespace routepack
