#include "routepack/placement.hpp"

#include "base/check.hpp"

namespace routepack {

Placement identity_placement(int num_layers, int num_experts, int ep) {
  RP_CHECK(
      num_layers >= 0 && num_experts >= 0, ErrorCode::kNumberOutOfRange,
      "a placement of {} layers and {} experts", num_layers, num_experts
  );
  LayerPlacement layer{static_cast<std::size_t>(num_experts)};
  for (const ExpertId expert : ids<ExpertId>(num_experts)) {
    layer[expert] = SlotId{expert.value()};
  }
  return Placement{
      num_experts, ep,
      IndexVector<MoeLayer, LayerPlacement>{static_cast<std::size_t>(num_layers), layer}};
}

void validate_placement(const Placement& placement, int num_layers, int num_experts) {
  RP_CHECK(
      placement.num_experts == num_experts, ErrorCode::kFileMalformed,
      "the placement is for {} experts, not {}", placement.num_experts, num_experts
  );
  RP_CHECK(
      placement.ep >= 1 && num_experts % placement.ep == 0, ErrorCode::kExpertsNotDivisible,
      "{} experts of the placement do not divide over ep = {} ranks", num_experts, placement.ep
  );
  RP_CHECK(
      placement.layers.size() == static_cast<std::size_t>(num_layers), ErrorCode::kFileMalformed,
      "the placement has {} layers, not {}", placement.layers.size(), num_layers
  );
  for (const MoeLayer layer : ids<MoeLayer>(num_layers)) {
    const LayerPlacement& slots = placement.layers[layer];
    RP_CHECK(
        slots.size() == static_cast<std::size_t>(num_experts), ErrorCode::kFileMalformed,
        "layer {} of the placement has {} experts, not {}", layer.value(), slots.size(), num_experts
    );
    IndexVector<SlotId, bool> taken{static_cast<std::size_t>(num_experts), false};
    for (const ExpertId expert : ids<ExpertId>(num_experts)) {
      const SlotId slot = slots[expert];
      RP_CHECK(
          slot.value() >= 0 && slot.value() < num_experts && !taken[slot],
          ErrorCode::kFileMalformed,
          "layer {} of the placement is no permutation: slot {} of expert {} is taken or outside "
          "0 to {}",
          layer.value(), slot.value(), expert.value(), num_experts - 1
      );
      taken[slot] = true;
    }
  }
}

std::int64_t count_moved_experts(const Placement& before, const Placement& after) {
  const auto num_layers = static_cast<int>(before.layers.size());
  validate_placement(before, num_layers, before.num_experts);
  validate_placement(after, num_layers, before.num_experts);
  RP_CHECK(
      before.ep == after.ep, ErrorCode::kTopologyMismatch, "the placements have {} and {} EP ranks",
      before.ep, after.ep
  );
  std::int64_t moved = 0;
  for (const MoeLayer layer : ids<MoeLayer>(before.layers.size())) {
    for (const ExpertId expert : ids<ExpertId>(before.num_experts)) {
      moved += before.ep_rank_of(layer, expert) != after.ep_rank_of(layer, expert) ? 1 : 0;
    }
  }
  return moved;
}

}  // namespace routepack
