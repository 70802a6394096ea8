#include "routepack/layout.hpp"

#include <fmt/format.h>

namespace routepack {

IndexVector<CellId, std::vector<SampleId>> samples_by_cell(const CellLayout& layout) {
  IndexVector<CellId, std::vector<SampleId>> cells{static_cast<std::size_t>(layout.num_cells())};
  for (const SampleId sample : ids<SampleId>(layout.cell_of_sample.size())) {
    cells[layout.cell_of_sample[sample]].push_back(sample);
  }
  return cells;
}

std::string find_layout_fault(
    const CellLayout& layout,
    const IndexVector<SampleId, std::int64_t>& padded_lengths,
    std::int64_t capacity_tokens
) {
  if (layout.cell_of_sample.size() != padded_lengths.size()) {
    return fmt::format(
        "{} samples are laid out, the window has {}", layout.cell_of_sample.size(),
        padded_lengths.size()
    );
  }
  IndexVector<CellId, std::int64_t> tokens{static_cast<std::size_t>(layout.num_cells()), 0};
  IndexVector<CellId, std::int64_t> held{static_cast<std::size_t>(layout.num_cells()), 0};
  for (const SampleId sample : ids<SampleId>(padded_lengths.size())) {
    const CellId cell = layout.cell_of_sample[sample];
    if (cell.value() < 0 || cell.value() >= layout.num_cells()) {
      return fmt::format("sample {} is in cell {}", sample.value(), cell.value());
    }
    tokens[cell] += padded_lengths[sample];
    ++held[cell];
  }
  for (const CellId cell : ids<CellId>(layout.num_cells())) {
    if (held[cell] == 0 || (tokens[cell] > capacity_tokens && held[cell] > 1)) {
      return fmt::format(
          "cell (row {}, slot {}) holds {} samples, {} of {} tokens", layout.row_of(cell).value(),
          layout.slot_of(cell).value(), held[cell], tokens[cell], capacity_tokens
      );
    }
  }
  return {};
}

}  // namespace routepack
