// The bound l2 sharpened where samples beyond C - 2λ meet their partners of λ to 2λ tokens: each
// takes one at most, so those lengths can be weighed by any steps below the identity, and the steps
// are put where partners run short. Linear programming duality for that matching, solved exactly.
#pragma once

#include <cstdint>
#include <vector>

#include "packing/lengths.hpp"
#include "routepack/certificate.hpp"

namespace routepack {

// The best bound of kind l2_steps (bounds.hpp) over all λ among the lengths; O(distinct²) at worst,
// some milliseconds for thousands of lengths.
[[nodiscard]] CellBound best_step_bound(
    const std::vector<LengthCount>& lengths, std::int64_t capacity_tokens
);

}  // namespace routepack
