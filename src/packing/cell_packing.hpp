// A packing into any number of cells, before it becomes whole rows; and the classical fits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "packing/lengths.hpp"
#include "routepack/ids.hpp"
#include "routepack/layout.hpp"

namespace routepack::packing {

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

// A layout under change: what each cell holds, its tokens and its attention work, all kept exact.
class CellContents {
 public:
  // `lengths` and `work` must outlive the contents.
  CellContents(
      const IndexVector<SampleId, std::int64_t>& lengths,
      const IndexVector<SampleId, std::int64_t>& work,
      int num_cells
  )
      : lengths_(&lengths),
        work_of_(&work),
        cell_of_sample_(lengths.size()),
        samples_(static_cast<std::size_t>(num_cells)),
        tokens_(static_cast<std::size_t>(num_cells), 0),
        work_(static_cast<std::size_t>(num_cells), 0) {}

  // A sample that is in no cell yet.
  void put(SampleId sample, CellId cell) {
    cell_of_sample_[sample] = cell;
    samples_[cell].push_back(sample);
    tokens_[cell] += (*lengths_)[sample];
    work_[cell] += (*work_of_)[sample];
  }

  void move(SampleId sample, CellId to) {
    const CellId from = cell_of_sample_[sample];
    std::vector<SampleId>& held = samples_[from];
    held.erase(std::find(held.begin(), held.end(), sample));
    tokens_[from] -= (*lengths_)[sample];
    work_[from] -= (*work_of_)[sample];
    put(sample, to);
  }

  void swap(SampleId a, SampleId b) {
    const CellId cell_a = cell_of_sample_[a];
    move(a, cell_of_sample_[b]);
    move(b, cell_a);
  }

  [[nodiscard]] int num_cells() const { return static_cast<int>(samples_.size()); }
  [[nodiscard]] const std::vector<SampleId>& samples(CellId cell) const { return samples_[cell]; }
  [[nodiscard]] std::int64_t tokens(CellId cell) const { return tokens_[cell]; }
  [[nodiscard]] std::int64_t work(CellId cell) const { return work_[cell]; }
  [[nodiscard]] std::int64_t length_of(SampleId sample) const { return (*lengths_)[sample]; }
  [[nodiscard]] std::int64_t work_of(SampleId sample) const { return (*work_of_)[sample]; }
  [[nodiscard]] CellId cell_of(SampleId sample) const { return cell_of_sample_[sample]; }
  [[nodiscard]] const IndexVector<SampleId, CellId>& cell_of_sample() const {
    return cell_of_sample_;
  }

 private:
  const IndexVector<SampleId, std::int64_t>* lengths_;
  const IndexVector<SampleId, std::int64_t>* work_of_;
  IndexVector<SampleId, CellId> cell_of_sample_;
  IndexVector<CellId, std::vector<SampleId>> samples_;
  IndexVector<CellId, std::int64_t> tokens_;
  IndexVector<CellId, std::int64_t> work_;
};

}  // namespace routepack::packing
