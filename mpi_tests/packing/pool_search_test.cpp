// The pool search and the subset search under it.
#include "packing/row_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "packing/bounds.hpp"
#include "packing/cell_pool.hpp"
#include "support/planted.hpp"

namespace routepack::packing {
namespace {

random::Stream search_stream() { return random::Stream{0, random::Purpose::kRowSearch, 0}; }

TEST(SubsetFill, FindsTheFullestSubset) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    const random::Stream stream = testing::planted_stream(seed, 1);
    std::vector<std::int64_t> lengths = testing::uniform_window(10, 1, 60, 60, stream).lengths;
    std::sort(lengths.rbegin(), lengths.rend());
    std::vector<Position> candidates;
    for (Position position = 0; position < lengths.size(); position += 1 + seed % 2) {
      candidates.push_back(position);
    }
    const std::size_t max_samples = 1 + seed % 5;
    std::int64_t fullest = 0;
    for (std::size_t subset = 0; subset < std::size_t{1} << candidates.size(); ++subset) {
      std::int64_t tokens = 0;
      std::size_t count = 0;
      for (std::size_t n = 0; n < candidates.size(); ++n) {
        if ((subset >> n & 1U) != 0) {
          tokens += lengths[candidates[n]];
          ++count;
        }
      }
      if (tokens <= 100 && count <= max_samples) {
        fullest = std::max(fullest, tokens);
      }
    }
    SubsetFill fill{lengths};
    ASSERT_TRUE(fill.run(candidates, {100, 1, 100, max_samples, 1'000'000}));
    EXPECT_EQ(fill.tokens(), fullest);
    std::int64_t chosen_tokens = 0;
    for (const Position position : fill.chosen()) {
      chosen_tokens += lengths[position];
    }
    EXPECT_EQ(chosen_tokens, fullest);
    EXPECT_LE(fill.chosen().size(), max_samples);
    std::vector<Position> all = fill.chosen();
    const std::vector<Position> left = fill.left_out();
    all.insert(all.end(), left.begin(), left.end());
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, candidates);
    EXPECT_FALSE(fill.run(candidates, {100, fullest + 1, 100, max_samples, 1'000'000}));
  }
}

// A valid packing into num_cells cells at most.
void expect_packing(
    const std::optional<CellPacking>& packing,
    const PaddedLengths& padded,
    std::int64_t capacity,
    std::int64_t num_cells
) {
  ASSERT_TRUE(packing.has_value());
  EXPECT_LE(packing->num_cells, num_cells);
  EXPECT_EQ(
      find_layout_fault(
          CellLayout{packing->num_cells, 1, packing->cell_of_sample}, padded, capacity
      ),
      ""
  );
}

TEST(PoolSearch, FindsPlantedPackingsThatFitsMiss) {
  for (std::uint32_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(seed);
    const testing::PlantedWindow window =
        testing::cut_full_cells(400, 16384, 8, testing::planted_stream(seed, 2));
    const PaddedLengths padded{window.lengths};
    // Not a token to spare; best fit needs one cell more.
    EXPECT_GT(pack_best_fit_decreasing(padded, 16384).num_cells, 400);
    expect_packing(
        search_with_pool(padded, 16384, 400, {1, 15'000'000}, search_stream()), padded, 16384, 400
    );
  }
}

TEST(PoolSearch, MeetsTheBoundOfRolloutLikeWindows) {
  int num_met = 0;
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    const testing::PlantedWindow window = testing::lognormal_window(
        2048, 8192.0, 0.8, 16384, testing::LongTail::kClipped, testing::planted_stream(seed, 3)
    );
    const PaddedLengths padded{window.lengths};
    const CellBound bound = best_simple_bound(count_lengths(padded), 16384);
    const PoolSearchLimits limits{std::max<std::int64_t>(bound.lambda, 1), 5'000'000};
    expect_packing(
        search_with_pool(padded, 16384, bound.cells + 1, limits, search_stream()), padded, 16384,
        bound.cells + 1
    );
    num_met += search_with_pool(padded, 16384, bound.cells, limits, search_stream()) ? 1 : 0;
  }
  EXPECT_GE(num_met, 4);
}

TEST(PoolSearch, ReturnsNothingWhereThereIsNothing) {
  const PaddedLengths padded{std::vector<std::int64_t>{51, 52, 53, 20, 20}};
  EXPECT_FALSE(search_with_pool(padded, 100, 2, {1, 1000}, search_stream()));  // three beyond half
  EXPECT_FALSE(search_with_pool(padded, 100, 1, {1, 1000}, search_stream()));
  expect_packing(search_with_pool(padded, 100, 3, {1, 1000}, search_stream()), padded, 100, 3);
  expect_packing(search_with_pool(padded, 100, 3, {25, 1000}, search_stream()), padded, 100, 3);
  const PaddedLengths thirds{std::vector<std::int64_t>(7, 34)};
  EXPECT_FALSE(search_with_pool(thirds, 100, 3, {1, 10'000}, search_stream()));  // two a cell
  expect_packing(search_with_pool(thirds, 100, 4, {1, 10'000}, search_stream()), thirds, 100, 4);
  expect_packing(
      search_with_pool(PaddedLengths{}, 100, 0, {1, 1000}, search_stream()), PaddedLengths{}, 100, 0
  );
}

}  // namespace
}  // namespace routepack::packing
