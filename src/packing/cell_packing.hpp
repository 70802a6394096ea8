// A packing into any number of cells, before it becomes whole rows; and the classical fits.
#pragma once

#include <cstdint>
#include <vector>

#include "packing/lengths.hpp"
#include "routepack/ids.hpp"
#include "routepack/layout.hpp"

namespace routepack {

struct CellPacking {
  int num_cells = 0;  // cells 0 … num_cells-1 are used, none of them empty
  IndexVector<SampleId, CellId> cell_of_sample;
  bool operator==(const CellPacking&) const = default;
};

// Each sample, in the given order, into the first cell that has room; O(n log n).
[[nodiscard]] CellPacking pack_first_fit(
    const PaddedLengths& padded, std::int64_t capacity_tokens, const std::vector<SampleId>& order
);

// Each sample, longest first, into the cell whose room it fills best (ties: the cell with the
// lowest number); O(n log n).
[[nodiscard]] CellPacking pack_best_fit_decreasing(
    const PaddedLengths& padded, std::int64_t capacity_tokens
);

// The packing spread over num_rows * dp >= packing.num_cells cells: each empty cell, in order,
// gets the shortest sample (ties: the highest id) of the cells that hold two or more. Stops early,
// leaving cells empty, where there are fewer samples than cells.
[[nodiscard]] CellLayout spread_over_rows(
    const CellPacking& packing, const PaddedLengths& padded, int num_rows, int dp
);

}  // namespace routepack
