// Complete search for a packing into a given number of cells: cell by cell, each opened by the
// longest sample left and completed in every undominated way (bin completion, Gent; Korf). Strong
// for tens of samples; the node limit makes it a heuristic for more.
#pragma once

#include <cstdint>
#include <optional>

#include "domain/tuning.hpp"
#include "packing/cell_packing.hpp"
#include "packing/lengths.hpp"
#include "random/stream.hpp"

namespace routepack::packing {

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

// Packing into a fixed number of cells when fits need one or two more: some cells stay open, their
// samples form a pool, and every other cell in turn takes from the pool and its own samples those
// that fill it best. The room wasted all over gathers in the open cells, until they can be closed.
struct PoolSearchLimits {
  // Samples of 1 … lambda-1 tokens are set aside, and those above capacity - lambda keep a cell
  // each; both join at the end. What the bound l2 of this lambda ignores, the search ignores too.
  std::int64_t lambda = 1;
  std::int64_t max_steps = 100'000'000;  // samples looked at
};

// A packing into at most `num_cells` cells, or nothing when the steps are spent. The order of the
// sweeps is drawn from `stream`.
[[nodiscard]] std::optional<CellPacking> search_with_pool(
    const PaddedLengths& padded,
    std::int64_t capacity_tokens,
    std::int64_t num_cells,
    const PoolSearchLimits& limits,
    const random::Stream& stream,
    const domain::Tuning::Pool& tuning = {}
);

}  // namespace routepack::packing
