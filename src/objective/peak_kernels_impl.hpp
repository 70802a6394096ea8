// Body of the peak kernels, for 16 layers at a time; `Simd` supplies the vectors of a level and
// kMaxGroups, how many times 16 layers it sums at once.
#pragma once

#include <algorithm>
#include <type_traits>

#include "objective/peak_kernels.hpp"

namespace routepack {

// Peaks of `num_groups` times 16 layers from `first` on, at most kGroups: side by side, so that a
// rank's layers are read in order and whole cache lines at a time.
template <class Simd, std::size_t kGroups, class T>
PeakSums group_peaks(const Exchange<T>& exchange, std::size_t first, std::size_t num_groups) {
  if constexpr (kGroups > 1) {
    if (num_groups < kGroups) {
      return group_peaks<Simd, kGroups - 1>(exchange, first, num_groups);
    }
  }
  using Lanes = typename Simd::Lanes;
  Lanes peak_a[kGroups];  // std::array would drop the attributes of vector types
  Lanes peak_b[kGroups];
  for (std::size_t group = 0; group < kGroups; ++group) {
    peak_a[group] = Simd::zero();
    peak_b[group] = Simd::zero();
  }
  const auto stride = static_cast<std::size_t>(exchange.padded_layers);
  std::size_t rank_start = first;
  for (int rank = 0; rank < exchange.ep; ++rank, rank_start += stride) {
    for (std::size_t group = 0; group < kGroups; ++group) {
      const std::size_t at = rank_start + 16 * group;
      // Wrap-around is exact: a block's load minus what leaves it is never negative.
      Lanes change = Simd::load(exchange.enters + at);
      if constexpr (!std::is_same_v<T, std::int32_t>) {
        change = Simd::subtract(change, Simd::load(exchange.leaves + at));
      }
      peak_a[group] =
          Simd::max(peak_a[group], Simd::add(Simd::load(exchange.loads_a + at), change));
      peak_b[group] =
          Simd::max(peak_b[group], Simd::subtract(Simd::load(exchange.loads_b + at), change));
    }
  }
  PeakSums sums;
  for (std::size_t group = 0; group < kGroups; ++group) {
    sums.a += Simd::sum(peak_a[group]);
    sums.b += Simd::sum(peak_b[group]);
  }
  return sums;
}

// The first group alone, since it rejects most moves, then as many together as registers hold.
template <class Simd, class T>
PeakSums exchange_peaks(const Exchange<T>& exchange) {
  const auto stride = static_cast<std::size_t>(exchange.padded_layers);
  PeakSums sums;
  for (std::size_t first = 0; first < stride;) {
    const std::size_t num_groups =
        first == 0 ? 1 : std::min((stride - first) / 16, Simd::kMaxGroups);
    const PeakSums some = group_peaks<Simd, Simd::kMaxGroups>(exchange, first, num_groups);
    sums.a += some.a;
    sums.b += some.b;
    first += 16 * num_groups;
    const std::int64_t unseen = exchange.num_layers - static_cast<std::int64_t>(first);
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
