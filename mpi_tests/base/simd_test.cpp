#include "base/simd.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace routepack::base {
namespace {

constexpr std::size_t kSize = 32;  // whole registers of every level
using Values = std::array<std::uint32_t, kSize>;

// to[i] = max(from[i], floor[i]), with 16 or 32 bits or a sign in `from`.
struct Raise {
  template <class Lanes, class T>
  RP_INLINE static void run(const T* from, const std::uint32_t* floor, std::uint32_t* to) {
    for (std::size_t at = 0; at < kSize; at += kLanes<Lanes>) {
      Lanes value;
      Lanes least;
      load(value, from + at);
      load(least, floor + at);
      raise(value, least);
      store(to + at, value);
    }
  }
};

struct SumAll {
  template <class Lanes>
  RP_INLINE static std::int64_t run(const std::uint32_t* from) {
    constexpr std::size_t kCount = kSize / kLanes<Lanes>;
    Lanes lanes[kCount];
    for (std::size_t at = 0; at < kCount; ++at) {
      load(lanes[at], from + at * kLanes<Lanes>);
    }
    return sum_lanes(lanes, kCount);
  }
};

class SimdLanes : public ::testing::TestWithParam<SimdLevel> {
 protected:
  void SetUp() override {
    if (GetParam() > best_simd_level()) {
      GTEST_SKIP() << "this CPU lacks the instructions";
    }
  }

  template <class T>
  [[nodiscard]] static Values raised(const std::array<T, kSize>& from, const Values& floor) {
    using Kernel = void (*)(const T*, const std::uint32_t*, std::uint32_t*);
    const Kernel kernel = with_simd(GetParam(), []<class Simd>(Simd) -> Kernel {
      return &Simd::template run<Raise>;
    });
    Values to{};
    kernel(from.data(), floor.data(), to.data());
    return to;
  }

  [[nodiscard]] static std::int64_t sum(const Values& values) {
    using Kernel = std::int64_t (*)(const std::uint32_t*);
    const Kernel kernel = with_simd(GetParam(), []<class Simd>(Simd) -> Kernel {
      return &Simd::template run<SumAll>;
    });
    return kernel(values.data());
  }
};

TEST_P(SimdLanes, SixteenBitsAreWidenedInOrderWithoutASign) {
  std::array<std::uint16_t, kSize> from{};
  Values expected{};
  for (std::size_t at = 0; at < kSize; ++at) {
    from[at] = static_cast<std::uint16_t>(0xffff - at);
    expected[at] = static_cast<std::uint32_t>(0xffff - at);
  }
  EXPECT_EQ(raised(from, {}), expected);
}

TEST_P(SimdLanes, TheLargerOfTwoIsUnsigned) {
  Values from{};
  Values floor{};
  Values expected{};
  for (std::size_t at = 0; at < kSize; ++at) {
    from[at] = at % 2 == 0 ? 0x8000'0000U + static_cast<std::uint32_t>(at) : 3;
    floor[at] = at % 3 == 0 ? 0xffff'ff00U + static_cast<std::uint32_t>(at) : 7;
    expected[at] = std::max(from[at], floor[at]);
  }
  EXPECT_EQ(raised(from, floor), expected);
}

TEST_P(SimdLanes, ANegativeNumberIsTakenModulo32Bits) {
  std::array<std::int32_t, kSize> from{};
  from.fill(-1);
  Values expected{};
  expected.fill(0xffff'ffffU);
  EXPECT_EQ(raised(from, {}), expected);
}

TEST_P(SimdLanes, ASumOverLanesDoesNotWrap) {
  Values values{};
  values.fill(std::numeric_limits<std::uint32_t>::max());
  EXPECT_EQ(sum(values), std::int64_t{kSize} * std::numeric_limits<std::uint32_t>::max());
  std::int64_t expected = 0;
  for (std::size_t at = 0; at < kSize; ++at) {  // every lane counts once
    values[at] = std::uint32_t{1} << (at % 32);
    expected += values[at];
  }
  EXPECT_EQ(sum(values), expected);
}

INSTANTIATE_TEST_SUITE_P(
    Levels,
    SimdLanes,
    ::testing::Values(SimdLevel::kPortable, SimdLevel::kAvx2, SimdLevel::kAvx512),
    [](const auto& level) {
      return with_simd(level.param, []<class Simd>(Simd) { return std::string(Simd::kName); });
    }
);

}  // namespace
}  // namespace routepack::base
