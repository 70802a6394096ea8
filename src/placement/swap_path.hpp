// Ways from the current placement of a layer, one swap of two experts after another.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/block_state.hpp"

namespace routepack {

// Two experts exchange their slots; the figures hold after it.
struct SwapStep {
  ExpertId a;
  ExpertId b;
  std::int64_t objective = 0;      // pairs: the layer's peak, or Σ of its blocks' peaks
  std::int64_t moved_experts = 0;  // against the current placement; may fall
  bool operator==(const SwapStep&) const = default;
};

// Every prefix is a placement to choose from.
using SwapPath = std::vector<SwapStep>;

// Swaps that bring every expert to its rank of `target`: first those that bring two there at once.
// As many experts a rank in `home` and in `target`. The objective is Σ of the blocks' peaks.
[[nodiscard]] SwapPath path_to(
    const BlockDemand& demand, const RankOfExpert& home, const RankOfExpert& target, int ep
);

}  // namespace routepack
