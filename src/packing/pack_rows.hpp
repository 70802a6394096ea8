// The fewest rows that hold all samples, with the proof that fewer cannot, or as close to both as
// the effort allows.
#pragma once

#include <cstdint>

#include "domain/cell_rules.hpp"
#include "domain/tuning.hpp"
#include "packing/lengths.hpp"
#include "routepack/certificate.hpp"
#include "routepack/layout.hpp"
#include "routepack/topology.hpp"

namespace routepack::packing {

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
    const domain::Tuning& tuning
);

// pack_rows, and where the numbers of samples are bound as well as the tokens then as few more rows
// as it takes to keep the rules on numbers of samples, as far as repairs of layouts find it; the
// lower bound is the better one of the tokens' and the numbers'. `lengths` in tokens, none above
// the capacity. Throws what pack_rows does, and NONEMPTY_CELLS_IMPOSSIBLE where equal slots are
// impossible (with the number of padding samples that would do) or no layout was found in any
// number of rows.
[[nodiscard]] PackedRows pack_counted_rows(
    const IndexVector<SampleId, std::int64_t>& lengths,
    const domain::CellRules& rules,
    const Topology& topology,
    int row_multiple,
    const domain::Tuning& tuning
);

}  // namespace routepack::packing
