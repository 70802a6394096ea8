#include "packing/fits.hpp"

#include <gtest/gtest.h>

#include "packing/cell_packing.hpp"
#include "packing/oracles.hpp"
#include "support/planted.hpp"

namespace routepack::packing {
namespace {

TEST(FirstFit, MatchesThePolicyWordByWord) {
  int num_impossible = 0;
  for (std::uint32_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    const random::Stream stream = testing::planted_stream(seed, 1);
    const random::RandomBits draw = stream.at(97, 0);
    const auto num_samples = 1 + static_cast<int>(draw.below(0, 60));
    const int dp = 1 + static_cast<int>(draw.below(1, 6));
    const int row_multiple = 1 + static_cast<int>(draw.below(2, 3));
    const std::int64_t capacity = 5 + draw.below(3, 40);  // small: many ties
    const std::int64_t high = 1 + stream.at(97, 1).below(0, static_cast<std::uint32_t>(capacity));
    const std::vector<std::int64_t> lengths =
        testing::uniform_window(num_samples, 1, high, capacity, stream).lengths;
    const testing::NaiveFirstFit naive =
        testing::naive_first_fit(lengths, capacity, dp, row_multiple);
    const FirstFit fit = first_fit_decreasing(PaddedLengths{lengths}, capacity, dp, row_multiple);
    EXPECT_EQ(fit.layout.num_rows, naive.rows);
    ASSERT_EQ(fit.nonempty_possible, naive.nonempty_possible);
    if (!naive.nonempty_possible) {
      ++num_impossible;
      continue;
    }
    for (const SampleId sample : ids<SampleId>(num_samples)) {
      ASSERT_EQ(fit.layout.cell_of_sample[sample].value(), naive.cell_of_sample[sample.offset()]);
    }
    EXPECT_EQ(find_layout_fault(fit.layout, PaddedLengths{lengths}, capacity), "");
  }
  EXPECT_GT(num_impossible, 50);
  EXPECT_LT(num_impossible, 1000);
}

TEST(FirstFit, SurvivesMoreRanksThanSamples) {
  const FirstFit fit =
      first_fit_decreasing(PaddedLengths{std::vector<std::int64_t>{5}}, 8, 1 << 20, 1 << 10);
  EXPECT_FALSE(fit.nonempty_possible);
  EXPECT_EQ(fit.layout.num_rows, 1 << 10);
}

TEST(Fits, FillNoCellAboveTheCapacityAndLeaveNoneEmpty) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const random::Stream stream = testing::planted_stream(seed, 2);
    const PaddedLengths padded{testing::uniform_window(300, 1, 100, 150, stream).lengths};
    for (const CellPacking& packing :
         {pack_first_fit(padded, 150, longest_first(padded)), pack_best_fit_decreasing(padded, 150),
          pack_minimum_slack(padded, 150, {100, 0}), pack_minimum_slack(padded, 150, {1, 0}),
          pack_minimum_slack(padded, 150, {100, 10})}) {
      EXPECT_EQ(
          find_layout_fault(spread_over_rows(packing, padded, packing.num_cells, 1), padded, 150),
          ""
      );
      // Without any empty cell, spreading changes nothing.
      EXPECT_EQ(
          spread_over_rows(packing, padded, packing.num_cells, 1).cell_of_sample,
          packing.cell_of_sample
      );
    }
  }
}

}  // namespace
}  // namespace routepack::packing
