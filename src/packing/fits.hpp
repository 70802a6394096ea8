// The length-only policy that plans are compared with (docs/formats.md, "Policies").
#pragma once

#include <cstdint>

#include "packing/cell_packing.hpp"
#include "packing/lengths.hpp"
#include "routepack/layout.hpp"

namespace routepack::packing {

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

// Packing cell by cell: the longest sample left opens a cell, and the best completion that a
// bounded search finds closes it (minimum bin slack, Gupta and Ho; Fleszar and Hindi).
struct SlackFitLimits {
  std::int64_t max_nodes_per_cell = 2'000;  // samples tried for a cell
  // A completion that leaves no more than this is taken at once: a perfect fit early on would use
  // up the short samples that the last cells need.
  std::int64_t tolerance_tokens = 0;
};

// The first completion tried is the greedy one, so even a limit of one node fills each cell like a
// decreasing fit.
[[nodiscard]] CellPacking pack_minimum_slack(
    const PaddedLengths& padded, std::int64_t capacity_tokens, const SlackFitLimits& limits
);

}  // namespace routepack::packing
