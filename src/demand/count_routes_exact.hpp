// The meaning of token routes, spelled out one id at a time: the oracle of count_routes, and the
// path that finds the words for a fault. What counts as a missing route is decided here.
#pragma once

#include <cstdint>
#include <span>

#include "demand/counted_demand.hpp"
#include "demand/route_reader.hpp"
#include "io/window_reader.hpp"

namespace routepack {

// The same contract as count_routes.
[[nodiscard]] CountedDemand count_routes_exact(const RouteView& routes, SampleRange range);

// Token routes of a sample without the fillers that some trainers append, to the last token or to
// the last turns: with `length` rows, the last ones that are zeros at every MoE layer. The first
// row is none: a sample of zeros alone was not captured. With top_k = 1 a filler cannot be told
// from a route to expert 0, and is none.
[[nodiscard]] std::int64_t num_rows_without_fillers(const RouteView& routes, std::int64_t sample);

// Rows of a sample, counted from its first.
struct RowRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Adds the routes of some rows of a sample to `demand` [L, E] and returns how many of the rows
// have a route: rows of -1 at every MoE layer have none. `reader` holds what is counted.
[[nodiscard]] std::int64_t add_rows_exact(
    const RouteView& routes,
    std::int64_t sample,
    RowRange rows,
    RouteReader& reader,
    std::span<std::uint32_t> demand
);

}  // namespace routepack
