#include "packing/first_fit.hpp"

#include <algorithm>
#include <limits>

#include "base/check.hpp"
#include "base/checked.hpp"
#include "packing/cell_packing.hpp"

namespace routepack {

FirstFit first_fit_decreasing(
    const PaddedLengths& padded, std::int64_t capacity, int dp, int row_multiple
) {
  RP_CHECK(
      dp >= 1 && row_multiple >= 1 && capacity >= 1, ErrorCode::kNumberOutOfRange,
      "dp is {}, row multiple {}, capacity {}: each must be at least 1", dp, row_multiple, capacity
  );
  // A first fit into n cells is the first fit into any number of cells, cut off after the nth; so
  // one run tells how many rows it needs.
  const CellPacking packing = pack_first_fit(padded, capacity, longest_first(padded));
  const std::int64_t needed_cells = std::max(packing.num_cells, 1);
  const std::int64_t rows =
      round_up(ceil_divide(needed_cells, std::int64_t{dp}), std::int64_t{row_multiple});
  RP_CHECK(
      rows <= std::numeric_limits<std::int32_t>::max() / dp, ErrorCode::kNumberOutOfRange,
      "{} rows of {} cells are more cells than can be numbered", rows, dp
  );
  const int num_rows = static_cast<int>(rows);
  if (padded.size() < static_cast<std::size_t>(rows * dp)) {
    return {CellLayout{num_rows, dp, packing.cell_of_sample}, false};
  }
  return {spread_over_rows(packing, padded, num_rows, dp), true};
}

}  // namespace routepack
