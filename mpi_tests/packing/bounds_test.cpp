// Bounds never exceed the optimum, and their verification believes nothing.
#include <gtest/gtest.h>

#include <numeric>

#include "packing/bounds.hpp"
#include "packing/cell_packing.hpp"
#include "packing/oracles.hpp"
#include "routepack/error.hpp"
#include "support/planted.hpp"

namespace routepack::packing {
namespace {

CellBound bound_of(std::string kind, std::int64_t lambda, std::int64_t parts) {
  CellBound bound;
  bound.kind = std::move(kind);
  bound.lambda = lambda;
  bound.parts = parts;
  return bound;
}

// A weighting of every kind for parameters drawn from a block.
std::vector<CellBound> some_bounds(std::int64_t capacity, const random::RandomBits& draw) {
  const std::int64_t parts = 1 + draw.below(1, 30);
  std::vector<CellBound> bounds = {
      bound_of("sum", 0, 0), bound_of("more_than_half", 0, 0), bound_of("u", 0, parts)};
  if (capacity >= 2) {
    const std::int64_t lambda = 1 + draw.below(0, static_cast<std::uint32_t>(capacity / 2));
    for (const char* kind : {"l2", "f2", "u_l2"}) {
      bounds.push_back(bound_of(kind, lambda, parts));
    }
  }
  return bounds;
}

TEST(Bounds, NeverExceedTheOptimum) {
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    const random::Stream stream = testing::planted_stream(seed, 1);
    const random::RandomBits draw = stream.at(98, 0);
    const std::int64_t capacity = 1 + draw.below(0, 60);
    const auto num_samples = 1 + static_cast<int>(draw.below(1, 10));
    const std::vector<std::int64_t> lengths =
        testing::uniform_window(num_samples, 1, capacity, capacity, stream).lengths;
    const std::vector<LengthCount> counts = count_lengths(PaddedLengths{lengths});
    const std::int64_t fewest = testing::fewest_cells(lengths, capacity);
    for (const CellBound& bound : some_bounds(capacity, stream.at(98, 1))) {
      EXPECT_LE(weighted_cells(bound, counts, capacity), fewest)
          << bound.kind << " lambda " << bound.lambda << " parts " << bound.parts;
    }
    for (const CellBound& bound :
         {best_simple_bound(counts, capacity), best_dual_feasible_bound(counts, capacity)}) {
      EXPECT_LE(bound.cells, fewest) << bound.kind;
      EXPECT_EQ(verify_bound(bound, PaddedLengths{lengths}, capacity), bound.cells);
    }
  }
}

// The most that samples of 1, 2, … tokens with these weights can weigh in a cell of as many tokens
// as there are weights: an unbounded knapsack.
std::int64_t heaviest_cell(const std::vector<std::int64_t>& weights) {
  std::vector<std::int64_t> heaviest(weights.size() + 1, 0);
  for (std::size_t tokens = 1; tokens < heaviest.size(); ++tokens) {
    for (std::size_t length = 1; length <= tokens; ++length) {
      heaviest[tokens] =
          std::max(heaviest[tokens], heaviest[tokens - length] + weights[length - 1]);
    }
  }
  return heaviest.back();
}

TEST(Bounds, EveryWeightingIsDualFeasible) {
  // The heaviest cell by an exact knapsack over all lengths, for every parameter of small
  // capacities: no bound relies on the random samples above alone.
  for (std::int64_t capacity = 1; capacity <= 24; ++capacity) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(capacity));
    std::iota(all.begin(), all.end(), std::int64_t{1});
    for (std::int64_t lambda = 1; lambda <= std::max<std::int64_t>(1, capacity / 2); ++lambda) {
      for (std::int64_t parts = 1; parts <= 12; ++parts) {
        for (const char* kind : {"sum", "more_than_half", "l2", "u", "u_l2", "f2"}) {
          const CellBound bound = bound_of(kind, lambda, parts);
          if (capacity == 1 && (bound.kind == "l2" || bound.kind == "u_l2" || bound.kind == "f2")) {
            continue;
          }
          // 10^6 cells of one length each give its weight in millionths of the scale, rounded up.
          std::vector<std::int64_t> weights;
          for (const std::int64_t length : all) {
            weights.push_back(weighted_cells(bound, {{length, 1'000'000}}, capacity));
          }
          EXPECT_LE(heaviest_cell(weights), 1'000'000 + capacity)
              << kind << " lambda " << lambda << " parts " << parts << " capacity " << capacity;
        }
      }
    }
  }
}

TEST(Bounds, SimpleOneIsTheBestOfItsKinds) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const random::Stream stream = testing::planted_stream(seed, 2);
    const PaddedLengths padded{testing::uniform_window(40, 1, 100, 100, stream).lengths};
    const std::vector<LengthCount> counts = count_lengths(padded);
    std::int64_t best = 0;
    for (std::int64_t lambda = 1; lambda <= 50; ++lambda) {
      best = std::max(best, weighted_cells(bound_of("l2", lambda, 0), counts, 100));
    }
    EXPECT_GE(best_simple_bound(counts, 100).cells, best) << "seed " << seed;
  }
}

TEST(VerifyBound, RefusesWhatWasTamperedWith) {
  const PaddedLengths padded{std::vector<std::int64_t>{60, 60, 60, 50, 30, 30}};
  const CellBound sound = best_simple_bound(count_lengths(padded), 100);
  ASSERT_EQ(verify_bound(sound, padded, 100), sound.cells);
  const auto refused = [&](CellBound bound) {
    try {
      (void)verify_bound(bound, padded, 100);
    } catch (const Error& error) {
      return error.code() == ErrorCode::kFileMalformed;
    }
    return false;
  };
  CellBound bound = sound;
  ++bound.cells;
  EXPECT_TRUE(refused(bound));
  EXPECT_TRUE(refused(bound_of("sure", 0, 0)));
  EXPECT_TRUE(refused(bound_of("l2", 51, 0)));
  EXPECT_TRUE(refused(bound_of("u", 0, 0)));

  CellBound count = bound_of("count", 0, 2);
  count.cells = 3;  // six samples, two a cell
  EXPECT_EQ(verify_bound(count, padded, 100), 3);
  count.parts = 0;
  EXPECT_TRUE(refused(count));

  CellBound search = bound_of("search", 0, 1000);
  search.cells = 4;  // 60, 60, 60 and 50 are pairwise too long
  EXPECT_EQ(verify_bound(search, padded, 100), 4);
  search.cells = 5;
  EXPECT_TRUE(refused(search));
  search.cells = 0;
  EXPECT_TRUE(refused(search));
}

}  // namespace
}  // namespace routepack::packing
