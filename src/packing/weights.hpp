// The weight functions behind the bounds on cells (bounds.hpp lists them), in exact integers.
#pragma once

#include <cstdint>
#include <vector>

#include "packing/lengths.hpp"
#include "routepack/certificate.hpp"

namespace routepack {

// ceil(Σ count · weight / scale) cells: what the kind and parameters of `bound` prove, whatever its
// `cells` say. Throws FILE_MALFORMED for a kind that is no weighting and for parameters outside
// their range.
[[nodiscard]] std::int64_t weighted_cells(
    const CellBound& bound, const std::vector<LengthCount>& lengths, std::int64_t capacity_tokens
);

}  // namespace routepack
