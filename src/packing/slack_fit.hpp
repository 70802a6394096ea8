// Packing cell by cell: the longest sample left opens a cell, and the best completion that a
// bounded search finds closes it (minimum bin slack, Gupta and Ho; Fleszar and Hindi).
#pragma once

#include <cstdint>

#include "packing/cell_packing.hpp"
#include "packing/lengths.hpp"

namespace routepack {

// `max_nodes_per_cell` bounds the samples tried for a cell; the first completion tried is the
// greedy one, so even a small limit is no worse than a decreasing fit of that cell.
[[nodiscard]] CellPacking pack_minimum_slack(
    const PaddedLengths& padded, std::int64_t capacity_tokens, std::int64_t max_nodes_per_cell
);

}  // namespace routepack
