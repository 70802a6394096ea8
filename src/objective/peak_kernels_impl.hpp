// Body of the peak kernels, for 16 layers at a time; `Simd` supplies the vectors of a level.
#pragma once

#include <type_traits>

#include "objective/peak_kernels.hpp"

namespace routepack {

template <class Simd, class T>
PeakSums exchange_peaks(const Exchange<T>& exchange) {
  using Lanes = typename Simd::Lanes;
  const auto stride = static_cast<std::size_t>(exchange.padded_layers);
  PeakSums sums;
  for (std::size_t first = 0; first < stride; first += 16) {
    Lanes peak_a = Simd::zero();
    Lanes peak_b = Simd::zero();
    std::size_t at = first;
    for (int rank = 0; rank < exchange.ep; ++rank, at += stride) {
      // Wrap-around is exact: a block's load minus what leaves it is never negative.
      Lanes change = Simd::load(exchange.enters + at);
      if constexpr (!std::is_same_v<T, std::int32_t>) {
        change = Simd::subtract(change, Simd::load(exchange.leaves + at));
      }
      peak_a = Simd::max(peak_a, Simd::add(Simd::load(exchange.loads_a + at), change));
      peak_b = Simd::max(peak_b, Simd::subtract(Simd::load(exchange.loads_b + at), change));
    }
    sums.a += Simd::sum(peak_a);
    sums.b += Simd::sum(peak_b);
    const std::int64_t unseen = exchange.num_layers - static_cast<std::int64_t>(first) - 16;
    if (unseen > 0 && sums.a + sums.b + unseen * exchange.least_peaks > exchange.limit) {
      sums.exceeded = true;
      return sums;
    }
  }
  return sums;
}

template <class Simd, class T>
void move_loads(const T* sample, std::uint32_t* from, std::uint32_t* to, std::size_t count) {
  for (std::size_t at = 0; at < count; at += 16) {
    const typename Simd::Lanes pairs = Simd::load(sample + at);
    Simd::store(from + at, Simd::subtract(Simd::load(from + at), pairs));
    Simd::store(to + at, Simd::add(Simd::load(to + at), pairs));
  }
}

template <class Simd>
constexpr PeakKernels make_kernels(const char* name) {
  return PeakKernels{
      name,
      &exchange_peaks<Simd, std::uint16_t>,
      &exchange_peaks<Simd, std::uint32_t>,
      &exchange_peaks<Simd, std::int32_t>,
      &move_loads<Simd, std::uint16_t>,
      &move_loads<Simd, std::uint32_t>};
}

// One a file, each compiled with its own instruction set.
extern const PeakKernels kPortablePeakKernels;
extern const PeakKernels kAvx2PeakKernels;
extern const PeakKernels kAvx512PeakKernels;

}  // namespace routepack
