#include "demand/slices.hpp"

namespace routepack {

std::vector<SampleRange> slice_samples(const WindowHeader& header, int num_parts) {
  const auto num_samples = static_cast<std::int64_t>(header.lengths.size());
  const WindowShape& shape = header.shape;
  // Ids of a token route against counters of a sample; their widths are close enough to 1.
  const std::int64_t per_row = std::int64_t{shape.num_moe_layers()} * shape.top_k;
  const std::int64_t per_sample = std::int64_t{shape.num_moe_layers()} * shape.num_experts + 1;
  const auto work_before = [&](std::int64_t sample) {
    const std::int64_t rows = header.form == DemandForm::kRoutes
                                  ? header.row_offsets[static_cast<std::size_t>(sample)]
                                  : 0;
    return static_cast<double>(rows) * static_cast<double>(per_row) +
           static_cast<double>(sample) * static_cast<double>(per_sample);
  };
  std::vector<SampleRange> slices;
  std::int64_t end = 0;
  for (int part = 0; part < num_parts; ++part) {
    const std::int64_t begin = end;
    const double target = work_before(num_samples) * (part + 1) / num_parts;
    while (end < num_samples && work_before(end + 1) <= target) {
      ++end;
    }
    if (part + 1 == num_parts) {
      end = num_samples;
    }
    slices.push_back({begin, end});
  }
  return slices;
}

}  // namespace routepack
