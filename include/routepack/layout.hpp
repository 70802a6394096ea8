// Which cell each sample is computed in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "routepack/ids.hpp"
#include "routepack/topology.hpp"

namespace routepack {

struct CellLayout {
  int num_rows = 0;
  int dp = 1;
  IndexVector<SampleId, CellId> cell_of_sample;

  [[nodiscard]] int num_cells() const { return num_rows * dp; }
  [[nodiscard]] RowId row_of(CellId cell) const { return RowId{cell.value() / dp}; }
  [[nodiscard]] DpSlot slot_of(CellId cell) const { return DpSlot{cell.value() % dp}; }
  [[nodiscard]] CellId cell(RowId row, DpSlot slot) const {
    return CellId{row.value() * dp + slot.value()};
  }
  bool operator==(const CellLayout&) const = default;
};

// Samples of every cell, ascending.
[[nodiscard]] IndexVector<CellId, std::vector<SampleId>> samples_by_cell(const CellLayout& layout);

// What is wrong with a layout: a cell over the capacity or empty, a sample outside the cells. A
// sample longer than the capacity (Oversize::kOwnRow) may be in a cell alone. Empty when it is
// valid. `padded_lengths` in tokens, one a sample.
[[nodiscard]] std::string find_layout_fault(
    const CellLayout& layout,
    const IndexVector<SampleId, std::int64_t>& padded_lengths,
    std::int64_t capacity_tokens
);

}  // namespace routepack
