// What counting gives for consecutive samples, whatever form the window has.
#pragma once

#include <cstdint>
#include <vector>

namespace routepack {

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

}  // namespace routepack
