// The fewest rows that hold all samples, with the proof that fewer cannot, or as close to both as
// the effort allows.
#pragma once

#include <cstdint>

#include "packing/lengths.hpp"
#include "routepack/certificate.hpp"
#include "routepack/layout.hpp"

namespace routepack {

// Limits in counted work, never in time: equal inputs give equal rows everywhere.
struct PackingEffort {
  std::int64_t max_nodes_per_cell = 2'000;    // bounded completion of a cell
  std::int64_t max_pool_steps = 15'000'000;   // pool search, for each number of cells tried
  std::int64_t max_search_nodes = 1'000'000;  // complete search, tens of samples
};

struct PackedRows {
  CellLayout layout;
  RowCertificate certificate;
};

// Cells are num_rows * dp, num_rows a multiple of `row_multiple`, none empty, none above the
// capacity; as few as found. Stops at the first packing that is proven to be minimal.
// Throws FEWER_SAMPLES_THAN_RANKS, and NONEMPTY_CELLS_IMPOSSIBLE where every row count that can
// hold the samples has more cells than samples (or none with fewer was found: the text says which).
[[nodiscard]] PackedRows pack_rows(
    const IndexVector<SampleId, std::int64_t>& padded,
    std::int64_t capacity_tokens,
    int dp,
    int row_multiple,
    const PackingEffort& effort
);

}  // namespace routepack
