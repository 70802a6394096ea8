#include "objective/peak_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/random_window.hpp"

namespace routepack::objective {
namespace {

using testing::Draws;

struct Vectors {
  int ep, num_layers, padded_layers;
  std::vector<std::uint32_t> loads_a, loads_b, leaves, enters;
};

Vectors make_vectors(int ep, int num_layers, std::int64_t most, Draws& draws) {
  Vectors made{ep, num_layers, (num_layers + 15) / 16 * 16, {}, {}, {}, {}};
  for (int at = 0; at < ep * made.padded_layers; ++at) {
    const bool is_layer = at % made.padded_layers < num_layers;
    const auto draw = [&](std::int64_t bound) {
      return static_cast<std::uint32_t>(is_layer ? draws.below(bound) : 0);
    };
    made.leaves.push_back(draw(most));
    made.enters.push_back(draw(most));
    made.loads_a.push_back(made.leaves.back() + draw(5 * most));
    made.loads_b.push_back(made.enters.back() + draw(5 * most));
  }
  return made;
}

// One number at a time.
PeakSums oracle(const Vectors& v) {
  PeakSums sums;
  for (int layer = 0; layer < v.num_layers; ++layer) {
    std::int64_t peak_a = 0;
    std::int64_t peak_b = 0;
    for (int rank = 0; rank < v.ep; ++rank) {
      const auto at = static_cast<std::size_t>(rank * v.padded_layers + layer);
      const std::int64_t in = v.enters[at];
      const std::int64_t out = v.leaves[at];
      peak_a = std::max(peak_a, std::int64_t{v.loads_a[at]} + in - out);
      peak_b = std::max(peak_b, std::int64_t{v.loads_b[at]} - in + out);
    }
    sums.a += peak_a;
    sums.b += peak_b;
  }
  return sums;
}

std::vector<SimdLevel> levels() {
  std::vector<SimdLevel> all = {SimdLevel::kPortable};
  for (const SimdLevel level : {SimdLevel::kAvx2, SimdLevel::kAvx512}) {
    if (level <= base::best_simd_level()) {
      all.push_back(level);
    }
  }
  return all;
}

template <class T>
std::vector<T> narrowed(const std::vector<std::uint32_t>& from) {
  return {from.begin(), from.end()};
}

void expect_equal_to_oracle(const Vectors& v, const PeakKernels& kernels, std::int64_t limit) {
  const PeakSums expected = oracle(v);
  const auto narrow_out = narrowed<std::uint16_t>(v.leaves);
  const auto narrow_in = narrowed<std::uint16_t>(v.enters);
  std::vector<std::int32_t> difference;
  for (std::size_t at = 0; at < v.enters.size(); ++at) {
    difference.push_back(
        static_cast<std::int32_t>(v.enters[at]) - static_cast<std::int32_t>(v.leaves[at])
    );
  }
  const PeakSums narrow = kernels.exchange_narrow(
      {v.loads_a.data(), v.loads_b.data(), narrow_out.data(), narrow_in.data(), v.ep, v.num_layers,
       v.padded_layers, 0, limit}
  );
  const PeakSums wide = kernels.exchange_wide(
      {v.loads_a.data(), v.loads_b.data(), v.leaves.data(), v.enters.data(), v.ep, v.num_layers,
       v.padded_layers, 0, limit}
  );
  const PeakSums ready = kernels.exchange_difference(
      {v.loads_a.data(), v.loads_b.data(), nullptr, difference.data(), v.ep, v.num_layers,
       v.padded_layers, 0, limit}
  );
  for (const PeakSums& got : {narrow, wide, ready}) {
    if (got.exceeded) {
      EXPECT_GT(expected.a + expected.b, limit) << kernels.name;
    } else {
      EXPECT_EQ(got.a, expected.a) << kernels.name;
      EXPECT_EQ(got.b, expected.b) << kernels.name;
    }
  }
}

TEST(PeakKernels, EveryLevelGivesTheSumsOfTheOracle) {
  Draws draws{1};
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE(trial);
    const int ep = 1 + static_cast<int>(draws.below(9));
    const int layers = 1 + static_cast<int>(draws.below(70));
    const Vectors v = make_vectors(ep, layers, 1 + draws.below(60'000), draws);
    for (const SimdLevel level : levels()) {
      expect_equal_to_oracle(v, peak_kernels(level), INT64_MAX);
    }
  }
}

TEST(PeakKernels, StopOnlyWhereTheLimitIsSurelyPassed) {
  Draws draws{2};
  int stopped = 0;
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE(trial);
    const Vectors v = make_vectors(4, 40, 1000, draws);
    const PeakSums expected = oracle(v);
    const std::int64_t limit = (expected.a + expected.b) * (50 + draws.below(100)) / 100;
    for (const SimdLevel level : levels()) {
      expect_equal_to_oracle(v, peak_kernels(level), limit);
      stopped += peak_kernels(level)
                         .exchange_wide(
                             {v.loads_a.data(), v.loads_b.data(), v.leaves.data(), v.enters.data(),
                              v.ep, v.num_layers, v.padded_layers, 0, limit}
                         )
                         .exceeded
                     ? 1
                     : 0;
    }
  }
  EXPECT_GT(stopped, 0);
}

TEST(PeakKernels, LoadsBeyond31BitsDoNotWrap) {
  Vectors v{2, 1, 16, {}, {}, {}, {}};
  for (auto* values : {&v.loads_a, &v.loads_b, &v.leaves, &v.enters}) {
    values->assign(32, 0);
  }
  v.loads_a[0] = 4'000'000'000U;
  v.loads_b[16] = 4'200'000'000U;
  v.enters[16] = 60'000;
  for (const SimdLevel level : levels()) {
    expect_equal_to_oracle(v, peak_kernels(level), INT64_MAX);
  }
}

TEST(PeakKernels, MovingTakesFromOneBlockAndGivesToTheOther) {
  Draws draws{3};
  const Vectors v = make_vectors(3, 20, 500, draws);
  for (const SimdLevel level : levels()) {
    std::vector<std::uint32_t> from = v.loads_a;
    std::vector<std::uint32_t> to = v.loads_b;
    peak_kernels(level).move_wide(v.leaves.data(), from.data(), to.data(), from.size());
    const auto narrow = narrowed<std::uint16_t>(v.leaves);
    for (std::size_t at = 0; at < from.size(); ++at) {
      EXPECT_EQ(from[at], v.loads_a[at] - v.leaves[at]);
      EXPECT_EQ(to[at], v.loads_b[at] + v.leaves[at]);
    }
    peak_kernels(level).move_narrow(narrow.data(), to.data(), from.data(), from.size());
    EXPECT_EQ(from, v.loads_a);
    EXPECT_EQ(to, v.loads_b);
  }
}

}  // namespace
}  // namespace routepack::objective
