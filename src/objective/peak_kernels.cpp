// 16 layers a step, which all vector sizes divide; the layers are padded to a multiple of it.
#include "objective/peak_kernels.hpp"

#include <algorithm>
#include <type_traits>

#include "base/simd.hpp"

namespace routepack::objective {
namespace {

constexpr std::size_t kStepLayers = 16;

// How many steps are summed at once: as many peaks as registers hold.
template <class Lanes>
inline constexpr std::size_t kMaxSteps = 1;
template <>
inline constexpr std::size_t kMaxSteps<base::Vector32> = 2;
template <>
inline constexpr std::size_t kMaxSteps<base::Vector64> = 3;

// Peaks of kSteps steps from layer `first` on: side by side, so that a rank's layers are read in
// order and whole cache lines at a time.
template <class Lanes, std::size_t kSteps, class T>
RP_INLINE void add_peaks(PeakSums& sums, const Exchange<T>& exchange, std::size_t first) {
  constexpr std::size_t kVectors = kSteps * kStepLayers / base::kLanes<Lanes>;
  Lanes peaks_a[kVectors] = {};  // std::array would drop the attributes of vector types
  Lanes peaks_b[kVectors] = {};
  const auto stride = static_cast<std::size_t>(exchange.padded_layers);
  std::size_t rank_start = first;
  for (int rank = 0; rank < exchange.ep; ++rank, rank_start += stride) {
#pragma GCC unroll 8  // so that the peaks stay in registers
    for (std::size_t vector = 0; vector < kVectors; ++vector) {
      const std::size_t at = rank_start + vector * base::kLanes<Lanes>;
      Lanes change;
      Lanes load_a;
      Lanes load_b;
      base::load(change, exchange.enters + at);
      if constexpr (!std::is_same_v<T, std::int32_t>) {
        Lanes leaves;
        base::load(leaves, exchange.leaves + at);
        change -= leaves;
      }
      base::load(load_a, exchange.loads_a + at);
      base::load(load_b, exchange.loads_b + at);
      // Wrap-around is exact: a block's load minus what leaves it is never negative.
      base::raise(peaks_a[vector], load_a + change);
      base::raise(peaks_b[vector], load_b - change);
    }
  }
  sums.a += base::sum_lanes(peaks_a, kVectors);
  sums.b += base::sum_lanes(peaks_b, kVectors);
}

// Whether the limit is passed by the peaks of the layers before `end` and what the others cost at
// least.
template <class T>
RP_INLINE bool must_exceed(const PeakSums& sums, const Exchange<T>& exchange, std::size_t end) {
  const std::int64_t unseen = exchange.num_layers - static_cast<std::int64_t>(end);
  return unseen > 0 && sums.a + sums.b + unseen * exchange.least_peaks > exchange.limit;
}

// The first step alone, since it rejects most moves, then as many together as registers hold.
struct ExchangePeaks {
  template <class Lanes, class T>
  RP_INLINE static PeakSums run(const Exchange<T>& exchange) {
    const auto stride = static_cast<std::size_t>(exchange.padded_layers);
    PeakSums sums;
    if (stride == 0) {
      return sums;
    }
    add_peaks<Lanes, 1>(sums, exchange, 0);
    sums.exceeded = must_exceed(sums, exchange, kStepLayers);
    for (std::size_t end = kStepLayers; !sums.exceeded && end < stride;) {
      end = add_steps<Lanes, kMaxSteps<Lanes>>(sums, exchange, end);
      sums.exceeded = must_exceed(sums, exchange, end);
    }
    return sums;
  }

  // As many steps as are left, at most kSteps; returns where they end.
  template <class Lanes, std::size_t kSteps, class T>
  RP_INLINE static std::size_t add_steps(
      PeakSums& sums, const Exchange<T>& exchange, std::size_t first
  ) {
    const std::size_t end = first + kSteps * kStepLayers;
    if constexpr (kSteps > 1) {
      if (end > static_cast<std::size_t>(exchange.padded_layers)) {
        return add_steps<Lanes, kSteps - 1>(sums, exchange, first);
      }
    }
    add_peaks<Lanes, kSteps>(sums, exchange, first);
    return end;
  }
};

struct MoveLoads {
  template <class Lanes, class T>
  RP_INLINE static void run(
      const T* sample, std::uint32_t* from, std::uint32_t* to, std::size_t count
  ) {
    for (std::size_t at = 0; at < count; at += base::kLanes<Lanes>) {
      Lanes pairs;
      Lanes load_from;
      Lanes load_to;
      base::load(pairs, sample + at);
      base::load(load_from, from + at);
      base::load(load_to, to + at);
      base::store(from + at, load_from - pairs);
      base::store(to + at, load_to + pairs);
    }
  }
};

template <class Simd>
constexpr PeakKernels kKernels = {
    Simd::kName,
    &Simd::template run<ExchangePeaks>,
    &Simd::template run<ExchangePeaks>,
    &Simd::template run<ExchangePeaks>,
    &Simd::template run<MoveLoads>,
    &Simd::template run<MoveLoads>};

}  // namespace

const PeakKernels& peak_kernels(SimdLevel level) {
  return base::with_simd(level, []<class Simd>(Simd) -> const PeakKernels& {
    return kKernels<Simd>;
  });
}

}  // namespace routepack::objective
