// The length-only policy that plans are compared with (docs/formats.md, "Policies").
#pragma once

#include <cstdint>

#include "packing/lengths.hpp"
#include "routepack/layout.hpp"

namespace routepack {

struct FirstFit {
  CellLayout layout;
  bool nonempty_possible = true;  // false: fewer samples than cells; empty ones are left as is
};

// Rows from the total of tokens upwards, a row multiple at a time, until first-fit decreasing
// fits; then one sample for each empty cell. `padded` must respect the capacity and not be empty.
[[nodiscard]] FirstFit first_fit_decreasing(
    const IndexVector<SampleId, std::int64_t>& padded,
    std::int64_t capacity,
    int dp,
    int row_multiple
);

}  // namespace routepack
