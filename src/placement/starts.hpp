// Constructed placements of one layer: what the swap descent starts from.
#pragma once

#include <cstdint>
#include <span>

#include "placement/rank_state.hpp"

namespace routepack {

// Heaviest expert first onto the least loaded EP rank with a free slot (LPT with equal slots).
// Ties: lower expert, then lower rank. O(E log E).
[[nodiscard]] RankOfExpert place_greedily(std::span<const std::int64_t> demand, int ep);

// Balanced largest differencing: the sorted experts in E/ep groups of ep, one expert a rank each;
// the two groups of the widest spread are merged, heaviest with lightest, until one is left.
// Strong on near-uniform loads, and optimal for two experts a rank; weak on skewed loads.
// (Michiels, Korst, Aarts, van Leeuwen, "Performance ratios for the differencing method applied
// to the balanced number partitioning problem", STACS 2003.) O(E/ep * E log E).
[[nodiscard]] RankOfExpert place_by_differencing(std::span<const std::int64_t> demand, int ep);

}  // namespace routepack
