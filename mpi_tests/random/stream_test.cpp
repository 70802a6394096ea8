#include "random/stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace routepack::random {
namespace {

TEST(Stream, IsAPureFunctionOfItsKey) {
  const Stream moves{42, Purpose::kMoves, 3};
  const Stream again{42, Purpose::kMoves, 3};
  EXPECT_EQ(moves.at(7, 123).word(2), again.at(7, 123).word(2));
  const Stream other_owner{42, Purpose::kMoves, 4};
  const Stream other_purpose{42, Purpose::kStarts, 3};
  EXPECT_NE(moves.at(7, 123).word(0), other_owner.at(7, 123).word(0));
  EXPECT_NE(moves.at(7, 123).word(0), other_purpose.at(7, 123).word(0));
  EXPECT_NE(moves.at(7, 123).word(0), moves.at(8, 123).word(0));
}

TEST(Stream, DrawsAreUniform) {
  const Stream stream{1, Purpose::kTests, 0};
  std::vector<int> seen(10, 0);
  double sum = 0.0;
  constexpr int kDraws = 100'000;
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    const RandomBits block = stream.at(0, draw);
    ++seen[block.below(0, 10)];
    const double unit = block.unit(2);
    ASSERT_GT(unit, 0.0);
    ASSERT_LT(unit, 1.0);
    sum += unit;
  }
  for (const int count : seen) {
    EXPECT_NEAR(count, kDraws / 10, 500);  // five standard deviations
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.005);
}

TEST(Stream, PermutationHoldsEveryElementOnce) {
  const Stream stream{9, Purpose::kTests, 0};
  std::vector<std::int32_t> order = random_permutation(stream, 0, 100);
  EXPECT_NE(order, random_permutation(stream, 1, 100));
  std::sort(order.begin(), order.end());
  for (std::int32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  }
  EXPECT_TRUE(random_permutation(stream, 0, 0).empty());
}

}  // namespace
}  // namespace routepack::random
