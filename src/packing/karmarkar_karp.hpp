// Largest differencing (Karmarkar, Karp) for many parts: sums as equal as one greedy pass makes
// them, and no regard to any capacity. What several trainers balance their micro-batches with.
#pragma once

#include <cstdint>

#include "routepack/ids.hpp"

namespace routepack::packing {

// Splits the samples into `num_cells` parts of about equal work (>= 0). No part is empty where
// there are samples enough. O(samples * parts) at worst.
[[nodiscard]] IndexVector<SampleId, CellId> partition_karmarkar_karp(
    const IndexVector<SampleId, std::int64_t>& work, int num_cells
);

}  // namespace routepack::packing
