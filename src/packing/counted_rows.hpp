// The fewest rows where the numbers of samples are bound as well as the tokens.
#pragma once

#include "domain/cell_rules.hpp"
#include "packing/pack_rows.hpp"
#include "routepack/topology.hpp"

namespace routepack {

// pack_rows, and then as few more rows as it takes to keep the rules on numbers of samples, as far
// as repairs of layouts find it; the lower bound is the better one of the tokens' and the numbers'.
// `lengths` in tokens, none above the capacity. Throws what pack_rows does, and
// NONEMPTY_CELLS_IMPOSSIBLE where equal slots are impossible (with the number of padding samples
// that would do) or no layout was found in any number of rows.
[[nodiscard]] PackedRows pack_counted_rows(
    const IndexVector<SampleId, std::int64_t>& lengths,
    const CellRules& rules,
    const Topology& topology,
    int row_multiple,
    const PackingEffort& effort
);

}  // namespace routepack
