#include "synth/apportion.hpp"

#include <gmock/gmock.h>

#include <numeric>

#include "random/stream.hpp"

namespace routepack::synth {
namespace {

using ::testing::ElementsAre;

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

TEST(Apportion, IsProportionalUnderTheCap) {
  EXPECT_THAT(apportion(std::vector<double>{1, 2, 5}, 800, 800), ElementsAre(100, 200, 500));
  // 5/8 of 800 exceeds 400; the rest is shared 1 : 2.
  EXPECT_THAT(apportion(std::vector<double>{1, 2, 5}, 700, 400), ElementsAre(100, 200, 400));
  // Capping one pushes the next over its cap.
  EXPECT_THAT(apportion(std::vector<double>{1, 4, 8}, 100, 44), ElementsAre(12, 44, 44));
}

TEST(Apportion, GivesNothingToAZeroWeightAndFillsToTheCap) {
  EXPECT_THAT(apportion(std::vector<double>{0, 1, 3}, 20, 10), ElementsAre(0, 10, 10));
  EXPECT_THAT(apportion(std::vector<double>{1, 0, 1e-300}, 15, 10), ElementsAre(10, 0, 5));
}

TEST(Apportion, AlwaysAddsUpAndNeverPassesTheCap) {
  const random::Stream stream{5, random::Purpose::kTests, 0};
  for (std::uint32_t trial = 0; trial < 500; ++trial) {
    const std::size_t size = 1 + stream.at(trial, 0).below(0, 60);
    const std::int64_t cap = 1 + stream.at(trial, 0).below(1, 1U << 20U);
    const std::int64_t total =
        (cap * static_cast<std::int64_t>(size) * stream.at(trial, 0).below(2, 1001)) / 1000;
    std::vector<double> weights;
    for (std::size_t id = 0; id < size; ++id) {
      const double unit = stream.at(trial, id + 1).unit(0);
      weights.push_back(unit * unit * unit * unit + 1e-12);
    }
    const std::vector<std::int64_t> shares = apportion(weights, total, cap);
    EXPECT_EQ(sum(shares), total) << "trial " << trial;
    for (const std::int64_t share : shares) {
      EXPECT_GE(share, 0) << "trial " << trial;
      EXPECT_LE(share, cap) << "trial " << trial;
    }
  }
}

TEST(RoundSystematically, KeepsTheSumAndTheMean) {
  const std::vector<std::int64_t> shares = {3 * 4 + 1, 2, 0, 1 * 4, 1};  // quarters; sum 5
  std::vector<std::int64_t> total(shares.size(), 0);
  for (std::int64_t offset = 0; offset < 4; ++offset) {
    const std::vector<std::int64_t> rounded = round_systematically(shares, 2, offset);
    EXPECT_EQ(sum(rounded), 5);
    for (std::size_t id = 0; id < shares.size(); ++id) {
      EXPECT_GE(rounded[id], shares[id] / 4);
      EXPECT_LE(rounded[id], (shares[id] + 3) / 4);
      total[id] += rounded[id];
    }
  }
  EXPECT_EQ(total, shares);  // over all offsets each is rounded up in its share of the cases
}

}  // namespace
}  // namespace routepack::synth
