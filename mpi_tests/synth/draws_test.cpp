#include "synth/draws.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace routepack::synth {
namespace {

TEST(PortableMath, AgreesWithTheLibraryToRounding) {
  for (double x = -690.0; x <= 690.0; x += 0.37) {
    EXPECT_NEAR(portable_exp(x) / std::exp(x), 1.0, 1e-15) << x;
  }
  for (double x = 1e-300; x < 1e300; x *= 1.7) {
    const double expected = std::log(x);
    EXPECT_NEAR(portable_log(x), expected, 4e-16 * (1.0 + std::abs(expected))) << x;
  }
  EXPECT_EQ(portable_exp(0.0), 1.0);
  EXPECT_EQ(portable_log(1.0), 0.0);
}

// The bits themselves: they must be the same with every compiler, build type and machine.
TEST(PortableMath, HasTheSameBitsEverywhere) {
  EXPECT_EQ(portable_exp(1.0), 0x1.5bf0a8b14576ap+1);
  EXPECT_EQ(portable_exp(-3.3), 0x1.2e259bb85be84p-5);
  EXPECT_EQ(portable_log(10.0), 0x1.26bb1bbb55516p+1);
  const random::Stream stream{3, random::Purpose::kTests, 0};
  EXPECT_EQ(draw_normal(stream, 0, 0), -0x1.7c1918e3de082p-1);
  EXPECT_EQ(draw_normal(stream, 0, 7), 0x1.bce215ba4cd63p-3);
}

TEST(PortableMath, NormalDeviatesHaveTheirMoments) {
  const random::Stream stream{11, random::Purpose::kTests, 0};
  constexpr int kDraws = 200'000;
  double sum = 0.0;
  double squares = 0.0;
  double fourths = 0.0;
  int beyond_two = 0;
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    const double x = draw_normal(stream, 0, draw);
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
    beyond_two += std::abs(x) > 2.0 ? 1 : 0;
  }
  // Five standard errors each.
  EXPECT_NEAR(sum / kDraws, 0.0, 0.012);
  EXPECT_NEAR(squares / kDraws, 1.0, 0.016);
  EXPECT_NEAR(fourths / kDraws, 3.0, 0.11);
  EXPECT_NEAR(static_cast<double>(beyond_two) / kDraws, 0.0455, 0.0024);
}

}  // namespace
}  // namespace routepack::synth
