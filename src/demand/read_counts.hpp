// Demand of windows that hold counts: converted to 32 bits and checked sample by sample.
#pragma once

#include "demand/counted_demand.hpp"
#include "io/window_reader.hpp"

namespace routepack {

// Demand of the samples in `range` of `counts` [N, L, E]. Throws NUMBER_OUT_OF_RANGE for an entry
// below 0 or above its sample's length, DEMAND_NOT_CONSERVED where a sample's layers differ in
// their totals or exceed top_k * length, naming sample and layer.
[[nodiscard]] CountedDemand read_counts(
    const WindowHeader& header, const NpyFile& counts, SampleRange range
);

}  // namespace routepack
