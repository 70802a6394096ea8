// Where each logical expert of each MoE layer lives.
#pragma once

#include <cstdint>
#include <vector>

#include "routepack/ids.hpp"

namespace routepack {

// Slot of every expert of one layer: a permutation of 0 … E-1.
using LayerPlacement = IndexVector<ExpertId, SlotId>;

struct Placement {
  int num_experts = 0;
  int ep = 1;
  IndexVector<MoeLayer, LayerPlacement> layers;

  [[nodiscard]] int slots_per_ep_rank() const { return num_experts / ep; }
  [[nodiscard]] EpRank ep_rank_of(SlotId slot) const {
    return EpRank{slot.value() / slots_per_ep_rank()};
  }
  [[nodiscard]] EpRank ep_rank_of(MoeLayer layer, ExpertId expert) const {
    return ep_rank_of(layers[layer][expert]);
  }
  bool operator==(const Placement&) const = default;
};

// Slot e holds expert e at every layer. `num_experts` must be a multiple of `ep`; counts below 0
// are NUMBER_OUT_OF_RANGE.
[[nodiscard]] Placement identity_placement(int num_layers, int num_experts, int ep);

// Throws FILE_MALFORMED naming the layer that is no permutation, or the count that is wrong;
// EXPERTS_NOT_DIVISIBLE for an ep below 1 or that does not divide them.
void validate_placement(const Placement& placement, int num_layers, int num_experts);

// Experts whose EP rank differs between the two. Throws what validate_placement does, and
// TOPOLOGY_MISMATCH, unless both have the same layers, experts and ep.
[[nodiscard]] std::int64_t count_moved_experts(const Placement& before, const Placement& after);

}  // namespace routepack
