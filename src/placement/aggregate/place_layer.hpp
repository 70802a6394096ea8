// Constructed placements of one layer: what the swap descent starts from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "domain/tuning.hpp"
#include "placement/aggregate/rank_state.hpp"
#include "random/stream.hpp"
#include "routepack/placement.hpp"

namespace routepack::placement {

// Heaviest expert first onto the least loaded EP rank with a free slot (LPT with equal slots).
// Ties: lower expert, then lower rank. O(E log E).
[[nodiscard]] RankOfExpert place_greedily(std::span<const std::int64_t> demand, int ep);

// Balanced largest differencing: the sorted experts in E/ep groups of ep, one expert a rank each;
// the two groups of the widest spread are merged, heaviest with lightest, until one is left.
// Strong on near-uniform loads, and optimal for two experts a rank; weak on skewed loads.
// (Michiels, Korst, Aarts, van Leeuwen, "Performance ratios for the differencing method applied
// to the balanced number partitioning problem", STACS 2003.) O(E/ep * E log E).
[[nodiscard]] RankOfExpert place_by_differencing(std::span<const std::int64_t> demand, int ep);

// The placement of one layer on its aggregate demand: lowest peak, then fewest moved experts.
struct PlaceEffort {
  domain::Tuning::Aggregate tuning = {};
  int num_threads = 0;  // over layers, in one process; 0: as OpenMP decides
};

struct LayerResult {
  LayerPlacement slots;
  std::int64_t peak = 0;         // pairs on the heaviest EP rank
  std::int64_t lower_bound = 0;  // of any placement with equal slots; equal to peak: optimal
};

// `demand` [E] pairs, none negative, total within int64; E a multiple of ep. Without `current` (a
// permutation of 0 … E-1) experts count as moved against the identity, but nothing is spent on
// moving fewer. A placement that meets the bound stays: all-zero and equal loads never move.
// Deterministic: `stream` drives the search, ties go to the lower id.
[[nodiscard]] LayerResult place_layer(
    std::span<const std::int64_t> demand,
    int ep,
    const LayerPlacement* current,
    const PlaceEffort& effort,
    const random::Stream& stream
);

// The same for any weights, say of blocks over EDP shards: as many items in every part, the
// heaviest part as light as found. `current` [n] is the part of each item, as many of each; it
// stays where it meets the bound, and otherwise few items leave their part.
[[nodiscard]] std::vector<std::int32_t> partition_evenly(
    std::span<const std::int64_t> weights,
    std::span<const std::int32_t> current,
    int num_parts,
    const domain::Tuning::Aggregate& tuning,
    const random::Stream& stream
);

}  // namespace routepack::placement
