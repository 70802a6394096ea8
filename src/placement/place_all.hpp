// All layers, or every stride-th one, of a demand matrix; layers are independent of each other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "placement/place_layer.hpp"
#include "routepack/ids.hpp"
#include "routepack/placement.hpp"

namespace routepack {

struct PlacementResult {
  Placement placement;
  IndexVector<MoeLayer, std::int64_t> peak;         // pairs on the heaviest EP rank
  IndexVector<MoeLayer, std::int64_t> lower_bound;  // on the peak, for any placement
  std::int64_t moved_experts = 0;                   // against the current placement, else identity
};

// What place_layers and place_experts take: the window's routed pairs and where experts live.
struct PlacementProblem {
  std::span<const std::int64_t> demand;  // [L, E] pairs
  int num_layers = 0;                    // L
  int num_experts = 0;                   // E, at most 65536
  int ep = 1;
  const Placement* current = nullptr;  // not owned; null: none
};

// Throws EXPERTS_NOT_DIVISIBLE; NUMBER_OUT_OF_RANGE for a size below 1 (no layers are fine), a
// negative demand or a layer's total above int64, naming layer and expert; FILE_MALFORMED for a
// current placement of another shape.
void validate_problem(const PlacementProblem& problem);

// Layers first, first + stride, … of a valid problem, in this order, by effort.num_threads threads.
// A layer's result depends on its demand, its number and the seed alone.
[[nodiscard]] std::vector<LayerResult> place_layers(
    const PlacementProblem& problem,
    const PlaceEffort& effort,
    std::uint64_t seed,
    MoeLayer first,
    int stride
);

// Puts the results of all layers, in layer order, together.
[[nodiscard]] PlacementResult collect_layers(
    const PlacementProblem& problem, std::vector<LayerResult> layers
);

}  // namespace routepack
