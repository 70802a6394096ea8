// Gives cells their rows and DP slots: which cells run side by side, and in which EDP shard.
#pragma once

#include <cstdint>
#include <vector>

#include "packing/cell_contents.hpp"
#include "routepack/layout.hpp"
#include "routepack/topology.hpp"

namespace routepack {

// Cells by attention work descending, ties by id.
[[nodiscard]] std::vector<CellId> heaviest_cells_first(const CellContents& contents);

// Cells by attention work descending, dp_per_shard consecutive ones to a block: for given cells and
// one stage that minimizes the sum of the blocks' maxima. Blocks go to shards, num_rows to each, so
// that the shards' sums of maxima are about equal: largest first onto the lightest shard that has
// room, then swaps with the heaviest shard. Ties: lower cell.
[[nodiscard]] CellLayout arrange_blocks(
    const CellContents& contents, const Topology& topology, int num_rows
);

}  // namespace routepack
