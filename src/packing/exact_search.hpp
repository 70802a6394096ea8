// Complete search for a packing into a given number of cells: cell by cell, each opened by the
// longest sample left and completed in every undominated way (bin completion, Gent; Korf). Strong
// for tens of samples; the node limit makes it a heuristic for more.
#pragma once

#include <cstdint>
#include <optional>

#include "packing/cell_packing.hpp"
#include "packing/lengths.hpp"

namespace routepack {

enum class PackingEnd {
  kFound,    // a packing into at most num_cells cells
  kRefuted,  // the search was complete: there is none
  kGaveUp,   // the nodes ran out
};

struct ExactSearch {
  PackingEnd end = PackingEnd::kGaveUp;
  std::optional<CellPacking> packing;  // where found
  std::int64_t num_nodes = 0;          // samples considered, over all completions
};

// Depends on nothing but the lengths and limits. `padded` must respect the capacity.
[[nodiscard]] ExactSearch search_packing(
    const PaddedLengths& padded,
    std::int64_t capacity_tokens,
    std::int64_t num_cells,
    std::int64_t max_nodes
);

}  // namespace routepack
