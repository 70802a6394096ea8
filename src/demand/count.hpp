// Counts the demand of consecutive samples, whatever form the window has.
#pragma once

#include <cstdint>
#include <vector>

#include "io/window_reader.hpp"

namespace routepack::demand {

// Samples [begin, end) of the window.
struct SampleRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

struct CountedDemand {
  std::vector<std::uint32_t> demand;  // [samples of the range, L, E] routed pairs
  std::int64_t routed_pairs = 0;      // of one layer; the same at every layer
};

// Demand of the samples in `range`, from token routes. Throws EXPERT_ID_OUT_OF_RANGE,
// DUPLICATE_EXPERT_IN_ROW, PARTIAL_SENTINEL or LAYER_ALL_ZERO naming the first faulty sample, token
// and layer, and FILE_MALFORMED where the file has become shorter. Equal to count_routes_exact in
// result and errors.
[[nodiscard]] CountedDemand count_routes(const io::RouteView& routes, SampleRange range);

// The same from `counts` [N, L, E], converted to 32 bits and checked sample by sample. Throws
// NUMBER_OUT_OF_RANGE for an entry below 0 or above its sample's length, DEMAND_NOT_CONSERVED where
// a sample's layers differ in their totals or exceed top_k * length, naming sample and layer.
[[nodiscard]] CountedDemand read_counts(
    const io::WindowHeader& header, const io::NpyFile& counts, SampleRange range
);

}  // namespace routepack::demand
