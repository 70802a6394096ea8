// Placements for shuffle tests.
#pragma once

#include <vector>

#include "random/stream.hpp"
#include "routepack/placement.hpp"

namespace routepack::testing {

// Every layer a random permutation, a function of the seed.
inline Placement random_placement(int layers, int experts, int ep, std::uint64_t seed) {
  Placement placement = identity_placement(layers, experts, ep);
  const random::Stream stream{seed, random::Purpose::kTests, 5};
  for (const MoeLayer layer : ids<MoeLayer>(layers)) {
    const std::vector<std::int32_t> order =
        random::random_permutation(stream, static_cast<std::uint32_t>(layer.value()), experts);
    for (const ExpertId expert : ids<ExpertId>(experts)) {
      placement.layers[layer][expert] = SlotId{order[expert.offset()]};
    }
  }
  return placement;
}

// From the experts that lie in slots 0 … E-1, a layer a list.
inline Placement placement_of_slots(int ep, const std::vector<std::vector<int>>& slot_expert) {
  const auto experts = static_cast<int>(slot_expert.at(0).size());
  Placement placement = identity_placement(static_cast<int>(slot_expert.size()), experts, ep);
  for (const MoeLayer layer : ids<MoeLayer>(slot_expert.size())) {
    for (const SlotId slot : ids<SlotId>(experts)) {
      placement.layers[layer][ExpertId{slot_expert[layer.offset()][slot.offset()]}] = slot;
    }
  }
  return placement;
}

}  // namespace routepack::testing
