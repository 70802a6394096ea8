// Placement of all layers of a demand matrix, by all ranks together; layers are independent of each
// other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "placement/aggregate/place_layer.hpp"
#include "routepack/ids.hpp"
#include "routepack/placement.hpp"

namespace routepack::placement {

struct PlacementResult {
  Placement placement;
  IndexVector<MoeLayer, std::int64_t> peak;         // pairs on the heaviest EP rank
  IndexVector<MoeLayer, std::int64_t> lower_bound;  // on the peak, for any placement
  std::int64_t moved_experts = 0;                   // against the current placement, else identity
};

// What place_experts takes: the window's routed pairs and where experts live.
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

// Collective. Every rank passes the same problem (the all-reduced demand), effort and seed. Layers
// are dealt over the ranks; a layer's result depends on its demand, its number and the seed alone,
// so it is the same at any number of ranks and threads. Throws what validate_problem does.
[[nodiscard]] PlacementResult place_experts(
    const PlacementProblem& problem,
    const PlaceEffort& effort,
    std::uint64_t seed,
    const comm::Communicator& comm
);

}  // namespace routepack::placement
