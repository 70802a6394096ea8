// One body in GCC/Clang vector extensions, inlined into a function for each instruction set, with
// vectors as wide as its registers: wider ones would live in memory.
#include "placement/blocks/block_kernels.hpp"

#include <algorithm>
#include <cstring>

namespace routepack {
namespace {

#define RP_INLINE [[gnu::always_inline]] inline

using Vector16 = std::uint32_t __attribute__((vector_size(16)));
using Vector32 = std::uint32_t __attribute__((vector_size(32)));
using Vector64 = std::uint32_t __attribute__((vector_size(64)));

template <class Lanes>
inline constexpr std::size_t kLanes = sizeof(Lanes) / sizeof(std::uint32_t);

template <class Lanes>
RP_INLINE void load(Lanes& lanes, const std::uint32_t* from) {
  std::memcpy(&lanes, from, sizeof(Lanes));
}

template <class Lanes>
RP_INLINE void raise(Lanes& lanes, const Lanes& other) {
  lanes = lanes > other ? lanes : other;
}

// Exact: widened before lanes are added.
RP_INLINE std::int64_t sum_lanes(const Vector16& lanes) {
  return std::int64_t{lanes[0]} + lanes[1] + lanes[2] + lanes[3];
}

RP_INLINE std::int64_t sum_lanes(const Vector32& lanes) {
  using Wide = std::uint64_t __attribute__((vector_size(32)));
  const Vector16 low = __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3);
  const Vector16 high = __builtin_shufflevector(lanes, lanes, 4, 5, 6, 7);
  const Wide sum = __builtin_convertvector(low, Wide) + __builtin_convertvector(high, Wide);
  return static_cast<std::int64_t>(sum[0] + sum[1] + (sum[2] + sum[3]));
}

RP_INLINE std::int64_t sum_lanes(const Vector64& lanes) {
  using Wide = std::uint64_t __attribute__((vector_size(64)));
  const Vector32 low = __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3, 4, 5, 6, 7);
  const Vector32 high = __builtin_shufflevector(lanes, lanes, 8, 9, 10, 11, 12, 13, 14, 15);
  Wide sum = __builtin_convertvector(low, Wide) + __builtin_convertvector(high, Wide);
  sum += __builtin_shufflevector(sum, sum, 4, 5, 6, 7, 0, 1, 2, 3);
  sum += __builtin_shufflevector(sum, sum, 2, 3, 0, 1, 6, 7, 4, 5);
  return static_cast<std::int64_t>(sum[0] + sum[1]);
}

// Σ of what add(position, accumulator) adds, vector by vector; a lane takes one value a vector, so
// the accumulator is emptied before it overflows.
template <class Lanes, class Add>
RP_INLINE std::int64_t sum_steps(std::size_t steps, std::size_t safe_steps, const Add& add) {
  const std::size_t size = steps * kBlockLanes;
  const std::size_t safe = std::min(size, safe_steps * kLanes<Lanes>);
  std::int64_t sum = 0;
  for (std::size_t begin = 0; begin < size; begin += safe) {
    const std::size_t end = std::min(size, begin + safe);
    Lanes accumulator = {};
    for (std::size_t at = begin; at < end; at += kLanes<Lanes>) {
      add(at, accumulator);
    }
    sum += sum_lanes(accumulator);
  }
  return sum;
}

// The objective in the lanes of one step.
template <PairObjective kObjective, class Lanes>
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

template <PairObjective kObjective, class Lanes>
RP_INLINE std::int64_t sum_swapped(
    const PairLoads& loads, const std::uint32_t* out, const std::uint32_t* in
) {
  return sum_steps<Lanes>(loads.steps, loads.safe_steps, [&](std::size_t at, Lanes& sum) {
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

template <PairObjective kObjective, class Lanes>
RP_INLINE Partner find_partner_body(const PartnerQuery& query) {
  Partner best{query.num_candidates, query.cost_below};
  for (std::size_t candidate = 0; candidate < query.num_candidates; ++candidate) {
    if (query.bound_offset + query.bound[candidate] >= best.cost) {
      break;
    }
    const std::int64_t charge = query.price * query.moves[candidate];
    std::int64_t cost =
        charge + query.cold_sum +
        sum_swapped<kObjective, Lanes>(query.hot, query.out_hot, query.in_hot[candidate]);
    if (!query.hot_is_all && cost < best.cost) {
      cost = charge +
             sum_swapped<kObjective, Lanes>(query.all, query.out_all, query.in_all[candidate]);
    }
    if (cost < best.cost) {
      best = {candidate, cost};
    }
  }
  return best;
}

template <PairObjective kObjective, class Lanes>
RP_INLINE std::int64_t sum_body(const PairLoads& loads) {
  return sum_steps<Lanes>(loads.steps, loads.safe_steps, [&](std::size_t at, Lanes& sum) {
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

template <PairObjective kObjective, class Lanes>
RP_INLINE void mark_body(const PairLoads& loads, const GainMasks& masks) {
  for (std::size_t at = 0; at < loads.steps * kBlockLanes; at += kLanes<Lanes>) {
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

template <class Lanes>
RP_INLINE std::int64_t sum_masked(
    const std::uint32_t* demand,
    const std::uint32_t* mask,
    std::size_t steps,
    std::size_t safe_steps
) {
  return sum_steps<Lanes>(steps, safe_steps, [&](std::size_t at, Lanes& sum) {
    Lanes value;
    Lanes chosen;
    load(value, demand + at);
    load(chosen, mask + at);
    sum += value & chosen;
  });
}

template <class Lanes>
RP_INLINE void take_larger_body(
    std::uint32_t* result, const std::uint32_t* x, const std::uint32_t* y, std::size_t steps
) {
  for (std::size_t at = 0; at < steps * kBlockLanes; at += kLanes<Lanes>) {
    Lanes larger;
    Lanes other;
    load(larger, x + at);
    load(other, y + at);
    raise(larger, other);
    std::memcpy(result + at, &larger, sizeof(Lanes));
  }
}

// Σ over blocks of the largest of the covering loads and of the two that exchange experts.
template <class Lanes>
RP_INLINE std::int64_t sum_exchanged_body(const ExchangeQuery& query) {
  return sum_steps<Lanes>(query.steps, query.safe_steps, [&](std::size_t at, Lanes& sum) {
    Lanes peak;
    Lanes load_b;
    Lanes taken;
    Lanes arrives;
    load(peak, query.load_a + at);
    load(load_b, query.load_b + at);
    load(taken, query.out + at);
    load(arrives, query.in + at);
    taken -= arrives;  // modulo 2^32; both new loads are whole again
    peak -= taken;
    load_b += taken;
    raise(peak, load_b);
    for (std::size_t other = 0; other < query.num_others; ++other) {
      Lanes load_other;
      load(load_other, query.others[other] + at);
      raise(peak, load_other);
    }
    sum += peak;
  });
}

// The kernels for one objective as functions of one instruction set.
#define RP_KERNELS(NAME, TARGET, LANES, OBJECTIVE)                                             \
  TARGET Partner find_partner_##NAME(const PartnerQuery& query) {                              \
    return find_partner_body<OBJECTIVE, LANES>(query);                                         \
  }                                                                                            \
  TARGET std::int64_t sum_##NAME(const PairLoads& loads) {                                     \
    return sum_body<OBJECTIVE, LANES>(loads);                                                  \
  }                                                                                            \
  TARGET void mark_##NAME(const PairLoads& loads, const GainMasks& masks) {                    \
    mark_body<OBJECTIVE, LANES>(loads, masks);                                                 \
  }                                                                                            \
  TARGET std::int64_t sum_marked_##NAME(                                                       \
      const std::uint32_t* demand, const GainMasks& masks, std::size_t steps, std::size_t safe \
  ) {                                                                                          \
    return sum_masked<LANES>(demand, masks.a, steps, safe) -                                   \
           sum_masked<LANES>(demand, masks.b, steps, safe);                                    \
  }                                                                                            \
  TARGET void take_larger_##NAME(                                                              \
      std::uint32_t* result, const std::uint32_t* x, const std::uint32_t* y, std::size_t steps \
  ) {                                                                                          \
    take_larger_body<LANES>(result, x, y, steps);                                              \
  }                                                                                            \
  TARGET std::int64_t sum_exchanged_##NAME(const ExchangeQuery& query) {                       \
    return sum_exchanged_body<LANES>(query);                                                   \
  }                                                                                            \
  constexpr BlockKernels kernels_##NAME = {find_partner_##NAME, sum_##NAME,                    \
                                           mark_##NAME,         sum_marked_##NAME,             \
                                           take_larger_##NAME,  sum_exchanged_##NAME};

#define RP_TARGET_AVX2 [[gnu::target("avx2")]]
#define RP_TARGET_AVX512 [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq")]]

RP_KERNELS(peaks_portable, , Vector16, PairObjective::kPeaks)
RP_KERNELS(excess_portable, , Vector16, PairObjective::kExcess)
#if defined(__x86_64__)
RP_KERNELS(peaks_avx2, RP_TARGET_AVX2, Vector32, PairObjective::kPeaks)
RP_KERNELS(excess_avx2, RP_TARGET_AVX2, Vector32, PairObjective::kExcess)
RP_KERNELS(peaks_avx512, RP_TARGET_AVX512, Vector64, PairObjective::kPeaks)
RP_KERNELS(excess_avx512, RP_TARGET_AVX512, Vector64, PairObjective::kExcess)
#endif

}  // namespace

const BlockKernels& block_kernels(SimdLevel level, PairObjective objective) {
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
