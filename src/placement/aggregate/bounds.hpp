// Lower bounds on the peak of one layer: what no placement with equal slots can beat.
#pragma once

#include <cstdint>
#include <span>

namespace routepack::placement {

// The best bound known on max over EP ranks of the rank's demand, over all placements that give
// every EP rank E/ep experts. `demand` [E] pairs, none negative, total within int64; E a multiple
// of ep. Exact for one and two experts a rank. O(E log E).
[[nodiscard]] std::int64_t peak_lower_bound(std::span<const std::int64_t> demand, int ep);

// Peaks that no placement of a layer reaches, by complete search where ranks have few slots.

// A lower bound on the peak of one layer, at least the valid `bound`: a complete search refutes
// peaks, from the bound upwards in growing steps, as far as `max_steps` steps of it reach. Ranks
// are filled one after another, the heaviest unplaced expert opening each; against a peak T all of
// them together fall short of it by ep * T - total, so near the mean few sets of experts are left
// to try. Only for 3 and 4 experts a rank, else the bound itself: with fewer peak_lower_bound is
// exact, with more there are too many sets. `demand` [E] as for peak_lower_bound.
[[nodiscard]] std::int64_t raise_peak_bound(
    std::span<const std::int64_t> demand, int ep, std::int64_t bound, std::int64_t max_steps
);

}  // namespace routepack::placement
