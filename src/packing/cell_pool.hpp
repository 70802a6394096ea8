// Cells that exchange samples with a pool, until the room wasted all over has gathered in the open
// cells and they can be closed. The heart of search_with_pool (pool_search.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "packing/subset_fill.hpp"
#include "random/stream.hpp"

namespace routepack {

struct FilledCell {
  std::vector<Position> long_sample;  // one beyond half the capacity, or none; it always stays
  std::vector<Position> samples;      // the others, ascending positions
  std::int64_t long_tokens = 0;
  std::int64_t tokens = 0;  // of all
};

// From any packing of all samples (`lengths` descending, one a position) to one of at most
// `num_cells` cells, or nothing when the steps (samples looked at) are spent. At most num_cells
// samples may be longer than half the capacity, and the tokens must fit num_cells full cells.
[[nodiscard]] std::optional<std::vector<FilledCell>> exchange_through_pool(
    const std::vector<std::int64_t>& lengths,
    std::int64_t capacity_tokens,
    std::vector<FilledCell> cells,
    std::size_t num_cells,
    std::int64_t max_steps,
    const Stream& stream
);

}  // namespace routepack
