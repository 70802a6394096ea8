// One body in GCC/Clang vector extensions, inlined into a function for each instruction set.
#include "placement/row_kernels.hpp"

#include <algorithm>
#include <cstring>

namespace routepack {
namespace {

using Lanes = std::uint32_t __attribute__((vector_size(64)));
using HalfLanes = std::uint32_t __attribute__((vector_size(32)));
using WideLanes = std::uint64_t __attribute__((vector_size(64)));

#define RP_INLINE [[gnu::always_inline]] inline

RP_INLINE void load(Lanes& lanes, const std::uint32_t* from) {
  std::memcpy(&lanes, from, sizeof(Lanes));
}

RP_INLINE void raise(Lanes& lanes, const Lanes& other) { lanes = lanes > other ? lanes : other; }

// Exact: widened before lanes are added.
RP_INLINE std::int64_t sum_lanes(const Lanes& lanes) {
  const HalfLanes low = __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3, 4, 5, 6, 7);
  const HalfLanes high = __builtin_shufflevector(lanes, lanes, 8, 9, 10, 11, 12, 13, 14, 15);
  WideLanes sum =
      __builtin_convertvector(low, WideLanes) + __builtin_convertvector(high, WideLanes);
  sum += __builtin_shufflevector(sum, sum, 4, 5, 6, 7, 0, 1, 2, 3);
  sum += __builtin_shufflevector(sum, sum, 2, 3, 0, 1, 6, 7, 4, 5);
  return static_cast<std::int64_t>(sum[0] + sum[1]);
}

// Σ over steps of what add(step, accumulator) adds; the accumulator is emptied before it overflows.
template <class Add>
RP_INLINE std::int64_t sum_steps(std::size_t steps, std::size_t safe_steps, const Add& add) {
  std::int64_t sum = 0;
  for (std::size_t begin = 0; begin < steps; begin += safe_steps) {
    const std::size_t end = std::min(steps, begin + safe_steps);
    Lanes accumulator = {};
    for (std::size_t step = begin; step < end; ++step) {
      add(step * kBlockLanes, accumulator);
    }
    sum += sum_lanes(accumulator);
  }
  return sum;
}

// The objective in the lanes of one step.
template <PairObjective kObjective>
RP_INLINE void judge(Lanes& result, const Lanes& level, const Lanes& load_a, const Lanes& load_b) {
  if constexpr (kObjective == PairObjective::kPeaks) {
    result = level;
    raise(result, load_a);
    raise(result, load_b);
  } else {
    Lanes above_b = level;
    result = level;
    raise(result, load_a);
    raise(above_b, load_b);
    result = (result - level) + (above_b - level);
  }
}

template <PairObjective kObjective>
RP_INLINE std::int64_t sum_swapped(
    const PairLoads& loads, const std::uint32_t* out, const std::uint32_t* in
) {
  return sum_steps(loads.steps, loads.safe_steps, [&](std::size_t at, Lanes& sum) {
    Lanes level;
    Lanes load_a;
    Lanes load_b;
    Lanes leaves;
    Lanes arrives;
    load(level, loads.level + at);
    load(load_a, loads.load_a + at);
    load(load_b, loads.load_b + at);
    load(leaves, out + at);
    load(arrives, in + at);
    const Lanes taken = leaves - arrives;  // modulo 2^32; both new loads are whole again
    Lanes judged;
    judge<kObjective>(judged, level, load_a - taken, load_b + taken);
    sum += judged;
  });
}

template <PairObjective kObjective>
RP_INLINE Partner find_partner_body(const PartnerQuery& query) {
  Partner best{query.num_candidates, query.cost_below};
  for (std::size_t candidate = 0; candidate < query.num_candidates; ++candidate) {
    if (query.bound_offset + query.bound[candidate] >= best.cost) {
      break;
    }
    if (query.moves[candidate] > query.max_moves) {
      continue;
    }
    const std::int64_t charge = query.price * query.moves[candidate];
    std::int64_t cost = charge + query.cold_sum +
                        sum_swapped<kObjective>(query.hot, query.out_hot, query.in_hot[candidate]);
    if (!query.hot_is_all && cost < best.cost) {
      cost = charge + sum_swapped<kObjective>(query.all, query.out_all, query.in_all[candidate]);
    }
    if (cost < best.cost) {
      best = {candidate, cost};
    }
  }
  return best;
}

template <PairObjective kObjective>
RP_INLINE std::int64_t sum_body(const PairLoads& loads) {
  return sum_steps(loads.steps, loads.safe_steps, [&](std::size_t at, Lanes& sum) {
    Lanes level;
    Lanes load_a;
    Lanes load_b;
    load(level, loads.level + at);
    load(load_a, loads.load_a + at);
    load(load_b, loads.load_b + at);
    Lanes judged;
    judge<kObjective>(judged, level, load_a, load_b);
    sum += judged;
  });
}

template <PairObjective kObjective>
RP_INLINE void mark_body(const PairLoads& loads, const GainMasks& masks) {
  for (std::size_t at = 0; at < loads.steps * kBlockLanes; at += kBlockLanes) {
    Lanes level;
    Lanes load_a;
    Lanes load_b;
    load(level, loads.level + at);
    load(load_a, loads.load_a + at);
    load(load_b, loads.load_b + at);
    auto mark_a = load_a > level;
    auto mark_b = load_b > level;
    if constexpr (kObjective == PairObjective::kPeaks) {  // a tie lowers nothing
      mark_a &= load_a > load_b;
      mark_b &= load_b > load_a;
    }
    std::memcpy(masks.a + at, &mark_a, sizeof(Lanes));
    std::memcpy(masks.b + at, &mark_b, sizeof(Lanes));
  }
}

RP_INLINE std::int64_t sum_masked(
    const std::uint32_t* demand,
    const std::uint32_t* mask,
    std::size_t steps,
    std::size_t safe_steps
) {
  return sum_steps(steps, safe_steps, [&](std::size_t at, Lanes& sum) {
    Lanes value;
    Lanes chosen;
    load(value, demand + at);
    load(chosen, mask + at);
    sum += value & chosen;
  });
}

RP_INLINE void take_larger_body(
    std::uint32_t* result, const std::uint32_t* x, const std::uint32_t* y, std::size_t steps
) {
  for (std::size_t at = 0; at < steps * kBlockLanes; at += kBlockLanes) {
    Lanes larger;
    Lanes other;
    load(larger, x + at);
    load(other, y + at);
    raise(larger, other);
    std::memcpy(result + at, &larger, sizeof(Lanes));
  }
}

// The kernels for one objective as functions of one instruction set.
#define RP_KERNELS(NAME, TARGET, OBJECTIVE)                                                     \
  TARGET Partner find_partner_##NAME(const PartnerQuery& query) {                               \
    return find_partner_body<OBJECTIVE>(query);                                                 \
  }                                                                                             \
  TARGET std::int64_t sum_##NAME(const PairLoads& loads) { return sum_body<OBJECTIVE>(loads); } \
  TARGET void mark_##NAME(const PairLoads& loads, const GainMasks& masks) {                     \
    mark_body<OBJECTIVE>(loads, masks);                                                         \
  }                                                                                             \
  TARGET std::int64_t sum_marked_##NAME(                                                        \
      const std::uint32_t* demand, const GainMasks& masks, std::size_t steps, std::size_t safe  \
  ) {                                                                                           \
    return sum_masked(demand, masks.a, steps, safe) - sum_masked(demand, masks.b, steps, safe); \
  }                                                                                             \
  TARGET void take_larger_##NAME(                                                               \
      std::uint32_t* result, const std::uint32_t* x, const std::uint32_t* y, std::size_t steps  \
  ) {                                                                                           \
    take_larger_body(result, x, y, steps);                                                      \
  }                                                                                             \
  constexpr RowKernels kernels_##NAME = {                                                       \
      find_partner_##NAME, sum_##NAME, mark_##NAME, sum_marked_##NAME, take_larger_##NAME};

#define RP_TARGET_AVX2 [[gnu::target("avx2")]]
#define RP_TARGET_AVX512 [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq")]]

RP_KERNELS(peaks_portable, , PairObjective::kPeaks)
RP_KERNELS(excess_portable, , PairObjective::kExcess)
#if defined(__x86_64__)
RP_KERNELS(peaks_avx2, RP_TARGET_AVX2, PairObjective::kPeaks)
RP_KERNELS(excess_avx2, RP_TARGET_AVX2, PairObjective::kExcess)
RP_KERNELS(peaks_avx512, RP_TARGET_AVX512, PairObjective::kPeaks)
RP_KERNELS(excess_avx512, RP_TARGET_AVX512, PairObjective::kExcess)
#endif

}  // namespace

const RowKernels& row_kernels(SimdLevel level, PairObjective objective) {
  const bool peaks = objective == PairObjective::kPeaks;
#if defined(__x86_64__)
  switch (level) {
    case SimdLevel::kAvx512:
      return peaks ? kernels_peaks_avx512 : kernels_excess_avx512;
    case SimdLevel::kAvx2:
      return peaks ? kernels_peaks_avx2 : kernels_excess_avx2;
    case SimdLevel::kPortable:
      break;
  }
#else
  static_cast<void>(level);
#endif
  return peaks ? kernels_peaks_portable : kernels_excess_portable;
}

}  // namespace routepack
