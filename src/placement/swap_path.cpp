#include "placement/swap_path.hpp"

#include <optional>

#include "placement/move_price.hpp"

namespace routepack {
namespace {

// Of the experts on the rank where `expert` belongs that belong elsewhere, the first that belongs
// where `expert` is; with `any`, failing that, the first.
std::optional<ExpertId> find_partner(
    const BlockState& state, const RankOfExpert& target, ExpertId expert, bool any
) {
  const EpRank from = state.rank_of_experts()[expert];
  std::optional<ExpertId> partner;
  for (const ExpertId other : state.experts(target[expert])) {
    if (target[other] == from) {
      return other;
    }
    if (any && !partner && target[other] != target[expert]) {
      partner = other;
    }
  }
  return partner;
}

}  // namespace

SwapPath path_to(
    const BlockDemand& demand, const RankOfExpert& home, const RankOfExpert& target, int ep
) {
  BlockState state{demand, home, ep};
  const MovePrice count{home};
  SwapPath path;
  std::int64_t moved = 0;
  for (const bool any : {false, true}) {
    for (const ExpertId expert : ids<ExpertId>(home.size())) {
      const EpRank from = state.rank_of_experts()[expert];
      const EpRank to = target[expert];
      if (from == to) {
        continue;
      }
      if (const std::optional<ExpertId> partner = find_partner(state, target, expert, any)) {
        moved += count.moves(expert, from, to) + count.moves(*partner, to, from);
        state.swap(expert, *partner);
        path.push_back({expert, *partner, state.sum_peaks(), moved});
      }
    }
  }
  return path;
}

}  // namespace routepack
