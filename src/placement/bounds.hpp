// Lower bounds on the peak of one layer: what no placement with equal slots can beat.
#pragma once

#include <cstdint>
#include <span>

namespace routepack {

// The best bound known on max over EP ranks of the rank's demand, over all placements that give
// every EP rank E/ep experts. `demand` [E] pairs, none negative, total within int64; E a multiple
// of ep. Exact for one and two experts a rank. O(E log E).
[[nodiscard]] std::int64_t peak_lower_bound(std::span<const std::int64_t> demand, int ep);

}  // namespace routepack
