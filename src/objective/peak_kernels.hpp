// The inner loop of the search: expert peaks of two blocks after an exchange of samples. One
// source, compiled for three instruction sets, chosen at run time; all give the same integers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/simd.hpp"

namespace routepack::objective {

// Sum over layers of the largest EP rank's load, of two blocks. `exceeded`: the limit was passed
// before all layers were seen, the sums are then partial.
struct PeakSums {
  std::int64_t a = 0;
  std::int64_t b = 0;
  bool exceeded = false;
};

// One exchange: `leaves` goes from block a to block b, `enters` from b to a. Loads and vectors are
// [ep][padded_layers] (padded to 16 layers); T is uint16, uint32 or, for a ready difference in
// `enters` (then `leaves` is unused), int32.
template <class T>
struct Exchange {
  const std::uint32_t* loads_a = nullptr;
  const std::uint32_t* loads_b = nullptr;
  const T* leaves = nullptr;
  const T* enters = nullptr;
  int ep = 1;
  int num_layers = 0;
  int padded_layers = 0;
  // After the exchange no peak of a layer can be lower than this, a and b together: what the
  // layers not yet seen will cost at least.
  std::int64_t least_peaks = 0;
  // Stop as soon as the two sums together must exceed this.
  std::int64_t limit = INT64_MAX;
};

struct PeakKernels {
  const char* name;
  PeakSums (*exchange_narrow)(const Exchange<std::uint16_t>&);
  PeakSums (*exchange_wide)(const Exchange<std::uint32_t>&);
  PeakSums (*exchange_difference)(const Exchange<std::int32_t>&);
  // Takes a sample's `count` values (a multiple of 16) out of one block's loads into another's.
  void (*move_narrow
  )(const std::uint16_t* sample, std::uint32_t* from, std::uint32_t* to, std::size_t count);
  void (*move_wide
  )(const std::uint32_t* sample, std::uint32_t* from, std::uint32_t* to, std::size_t count);
};

// The kernels of a level, which the CPU must have.
[[nodiscard]] const PeakKernels& peak_kernels(SimdLevel level);

}  // namespace routepack::objective
