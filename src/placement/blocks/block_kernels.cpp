#include "placement/blocks/block_kernels.hpp"

#include <algorithm>
#include <cstring>

#include "base/simd.hpp"

namespace routepack::placement {
namespace {

// Σ of what add(position, accumulator) adds, vector by vector; a lane takes one value a vector, so
// the accumulator is emptied before it overflows.
template <class Lanes, class Add>
RP_INLINE std::int64_t sum_steps(std::size_t steps, std::size_t safe_steps, const Add& add) {
  const std::size_t size = steps * kBlockLanes;
  const std::size_t safe = std::min(size, safe_steps * base::kLanes<Lanes>);
  std::int64_t sum = 0;
  for (std::size_t begin = 0; begin < size; begin += safe) {
    const std::size_t end = std::min(size, begin + safe);
    Lanes accumulator = {};
    for (std::size_t at = begin; at < end; at += base::kLanes<Lanes>) {
      add(at, accumulator);
    }
    sum += base::sum_lanes(&accumulator, 1);
  }
  return sum;
}

// The objective in the lanes of one step.
template <PairObjective kObjective, class Lanes>
RP_INLINE void judge(Lanes& result, const Lanes& level, const Lanes& load_a, const Lanes& load_b) {
  if constexpr (kObjective == PairObjective::kPeaks) {
    result = level;
    base::raise(result, load_a);
    base::raise(result, load_b);
  } else {
    Lanes above_b = level;
    result = level;
    base::raise(result, load_a);
    base::raise(above_b, load_b);
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
    base::load(level, loads.level + at);
    base::load(load_a, loads.load_a + at);
    base::load(load_b, loads.load_b + at);
    base::load(leaves, out + at);
    base::load(arrives, in + at);
    const Lanes taken = leaves - arrives;  // modulo 2^32; both new loads are whole again
    Lanes judged;
    judge<kObjective>(judged, level, load_a - taken, load_b + taken);
    sum += judged;
  });
}

template <PairObjective kObjective>
struct FindPartner {
  template <class Lanes>
  RP_INLINE static Partner run(const PartnerQuery& query) {
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
};

template <PairObjective kObjective>
struct Sum {
  template <class Lanes>
  RP_INLINE static std::int64_t run(const PairLoads& loads) {
    return sum_steps<Lanes>(loads.steps, loads.safe_steps, [&](std::size_t at, Lanes& sum) {
      Lanes level;
      Lanes load_a;
      Lanes load_b;
      base::load(level, loads.level + at);
      base::load(load_a, loads.load_a + at);
      base::load(load_b, loads.load_b + at);
      Lanes judged;
      judge<kObjective>(judged, level, load_a, load_b);
      sum += judged;
    });
  }
};

template <PairObjective kObjective>
struct Mark {
  template <class Lanes>
  RP_INLINE static void run(const PairLoads& loads, const GainMasks& masks) {
    for (std::size_t at = 0; at < loads.steps * kBlockLanes; at += base::kLanes<Lanes>) {
      Lanes level;
      Lanes load_a;
      Lanes load_b;
      base::load(level, loads.level + at);
      base::load(load_a, loads.load_a + at);
      base::load(load_b, loads.load_b + at);
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
};

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
    base::load(value, demand + at);
    base::load(chosen, mask + at);
    sum += value & chosen;
  });
}

struct SumMarked {
  template <class Lanes>
  RP_INLINE static std::int64_t run(
      const std::uint32_t* demand, const GainMasks& masks, std::size_t steps, std::size_t safe_steps
  ) {
    return sum_masked<Lanes>(demand, masks.a, steps, safe_steps) -
           sum_masked<Lanes>(demand, masks.b, steps, safe_steps);
  }
};

struct TakeLarger {
  template <class Lanes>
  RP_INLINE static void run(
      std::uint32_t* result, const std::uint32_t* x, const std::uint32_t* y, std::size_t steps
  ) {
    for (std::size_t at = 0; at < steps * kBlockLanes; at += base::kLanes<Lanes>) {
      Lanes larger;
      Lanes other;
      base::load(larger, x + at);
      base::load(other, y + at);
      base::raise(larger, other);
      base::store(result + at, larger);
    }
  }
};

// Σ over blocks of the largest of the covering loads and of the two that exchange experts.
struct SumExchanged {
  template <class Lanes>
  RP_INLINE static std::int64_t run(const ExchangeQuery& query) {
    return sum_steps<Lanes>(query.steps, query.safe_steps, [&](std::size_t at, Lanes& sum) {
      Lanes peak;
      Lanes load_b;
      Lanes taken;
      Lanes arrives;
      base::load(peak, query.load_a + at);
      base::load(load_b, query.load_b + at);
      base::load(taken, query.out + at);
      base::load(arrives, query.in + at);
      taken -= arrives;  // modulo 2^32; both new loads are whole again
      peak -= taken;
      load_b += taken;
      base::raise(peak, load_b);
      for (std::size_t other = 0; other < query.num_others; ++other) {
        Lanes load_other;
        base::load(load_other, query.others[other] + at);
        base::raise(peak, load_other);
      }
      sum += peak;
    });
  }
};

template <class Simd, PairObjective kObjective>
constexpr BlockKernels kKernels = {
    &Simd::template run<FindPartner<kObjective>>,
    &Simd::template run<Sum<kObjective>>,
    &Simd::template run<Mark<kObjective>>,
    &Simd::template run<SumMarked>,
    &Simd::template run<TakeLarger>,
    &Simd::template run<SumExchanged>};

}  // namespace

const BlockKernels& block_kernels(SimdLevel level, PairObjective objective) {
  return base::with_simd(level, [&]<class Simd>(Simd) -> const BlockKernels& {
    switch (objective) {
      case PairObjective::kPeaks:
        return kKernels<Simd, PairObjective::kPeaks>;
      case PairObjective::kExcess:
        break;
    }
    return kKernels<Simd, PairObjective::kExcess>;
  });
}

}  // namespace routepack::placement
