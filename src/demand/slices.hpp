// Which consecutive samples each rank counts.
#pragma once

#include <vector>

#include "demand/counted_demand.hpp"
#include "io/window_reader.hpp"

namespace routepack {

// `num_parts` ranges that cover all samples in order, some possibly empty, about equal in bytes to
// read and write. A pure function of its arguments.
[[nodiscard]] std::vector<SampleRange> slice_samples(const WindowHeader& header, int num_parts);

}  // namespace routepack
