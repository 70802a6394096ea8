// choose_slots of routepack/weights.hpp: which slot of its EP rank an expert takes. Slots of a rank
// are alike for the computation, so the choice serves the move alone.
#include <algorithm>
#include <limits>
#include <vector>

#include "base/check.hpp"
#include "routepack/weights.hpp"

namespace routepack {
namespace {

constexpr std::int32_t kFree = std::numeric_limits<std::int32_t>::max();

// One layer. Arrivals with a free slot of the same local number take it first, lower experts
// before higher ones; that is a maximum matching, since an expert asks for one slot only. The
// rest take what is left, ascending.
LayerPlacement choose_layer(
    const LayerPlacement& current, const LayerPlacement& target, std::int32_t per_rank
) {
  LayerPlacement chosen{current.size(), SlotId{kFree}};
  std::vector<bool> taken(current.size(), false);
  const auto take = [&](ExpertId expert, std::int32_t slot) {
    chosen[expert] = SlotId{slot};
    taken[static_cast<std::size_t>(slot)] = true;
  };
  for (const ExpertId expert : ids<ExpertId>(current.size())) {
    if (current[expert].value() / per_rank == target[expert].value() / per_rank) {
      take(expert, current[expert].value());
    }
  }
  for (const ExpertId expert : ids<ExpertId>(current.size())) {
    const std::int32_t first = target[expert].value() / per_rank * per_rank;
    const std::int32_t same = first + current[expert].value() % per_rank;
    if (chosen[expert].value() == kFree && !taken[static_cast<std::size_t>(same)]) {
      take(expert, same);
    }
  }
  std::vector<std::int32_t> next_of_rank(current.size() / static_cast<std::size_t>(per_rank));
  for (std::size_t rank = 0; rank < next_of_rank.size(); ++rank) {
    next_of_rank[rank] = static_cast<std::int32_t>(rank) * per_rank;
  }
  for (const ExpertId expert : ids<ExpertId>(current.size())) {
    if (chosen[expert].value() != kFree) {
      continue;
    }
    std::int32_t& next = next_of_rank[static_cast<std::size_t>(target[expert].value() / per_rank)];
    while (taken[static_cast<std::size_t>(next)]) {
      ++next;
    }
    take(expert, next);
  }
  return chosen;
}

}  // namespace

Placement choose_slots(const Placement& current, const Placement& target) {
  validate_placement(current, static_cast<int>(target.layers.size()), target.num_experts);
  validate_placement(target, static_cast<int>(target.layers.size()), target.num_experts);
  RP_CHECK(
      current.ep == target.ep, ErrorCode::kTopologyMismatch,
      "the current placement has {} EP ranks, the target {}", current.ep, target.ep
  );
  Placement chosen = target;
  for (const MoeLayer layer : ids<MoeLayer>(target.layers.size())) {
    chosen.layers[layer] =
        choose_layer(current.layers[layer], target.layers[layer], target.slots_per_ep_rank());
  }
  return chosen;
}

}  // namespace routepack
