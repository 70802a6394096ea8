// The weight functions behind the bounds on cells (bounds.hpp lists them), in exact integers.
#pragma once

#include <cstdint>
#include <vector>

#include "packing/lengths.hpp"
#include "routepack/certificate.hpp"

namespace routepack {

// ceil(Σ count · weight / scale) cells: what the kind and parameters of `bound` prove, whatever its
// `cells` say. Throws FILE_MALFORMED for a kind that is no weighting and for parameters outside
// their range. Explicit weights are taken on trust.
[[nodiscard]] std::int64_t weighted_cells(
    const CellBound& bound, const std::vector<LengthCount>& lengths, std::int64_t capacity_tokens
);

// The heaviest multiset of `lengths` (ascending, positive) with a sum of at most the capacity: an
// unbounded knapsack by dynamic programming over multiples of the lengths' common divisor. Throws
// FILE_MALFORMED where that takes more than 2^34 steps or 2^26 states.
[[nodiscard]] std::int64_t heaviest_cell(
    const std::vector<std::int64_t>& lengths,
    const std::vector<std::int64_t>& weights,
    std::int64_t capacity_tokens
);

}  // namespace routepack
