#include "placement/row_aware.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "placement/rank_state.hpp"
#include "placement/row_instance.hpp"
#include "routepack/error.hpp"

namespace routepack {
namespace {

using testing::draw_instance;
using testing::Instance;
using testing::make_instance;
using testing::random_layer;
using testing::sum_peaks;

RowAwareResult refine(const Instance& instance, const RowAwareOptions& options = {}) {
  return refine_layer(instance.demand, instance.num_blocks, instance.ep, instance.start, options);
}

// Lowest sum + price * moved over all placements one swap away that move at most so many.
std::int64_t best_neighbour(
    const Instance& instance,
    RankOfExpert rank_of,
    const RankOfExpert& home,
    const RowAwareOptions& options
) {
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (const ExpertId a : ids<ExpertId>(instance.num_experts)) {
    for (const ExpertId b : ids<ExpertId>(a.value())) {
      if (rank_of[a] == rank_of[b]) {
        continue;
      }
      std::swap(rank_of[a], rank_of[b]);
      const std::int64_t moved = count_moved(home, rank_of);
      if (moved <= options.max_moved) {
        best = std::min(best, sum_peaks(instance, rank_of) + options.price_per_moved * moved);
      }
      std::swap(rank_of[a], rank_of[b]);
    }
  }
  return best;
}

TEST(RefineLayer, StatesTheSumsOfTheOracleAndNeverGetsWorse) {
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    const Instance instance = draw_instance(seed);
    const RankOfExpert before = ranks_of(instance.start, instance.ep);
    const RowAwareResult result = refine(instance);
    const RankOfExpert after = ranks_of(result.slots, instance.ep);
    ASSERT_EQ(result.sum_before, sum_peaks(instance, before)) << "seed " << seed;
    ASSERT_EQ(result.sum_peaks, sum_peaks(instance, after)) << "seed " << seed;
    EXPECT_LE(result.sum_peaks, result.sum_before);
    EXPECT_EQ(result.moved_experts, count_moved(before, after));
    LayerPlacement slots = result.slots;
    std::sort(slots.begin(), slots.end());
    EXPECT_EQ(std::adjacent_find(slots.begin(), slots.end()), slots.end());
  }
}

TEST(RefineLayer, EndsWhereNoSwapPays) {
  // What the bounds prune must be what cannot gain: the oracle tries every swap.
  int ended = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Instance instance = draw_instance(seed);
    const RankOfExpert home = ranks_of(instance.start, instance.ep);
    RowAwareOptions options{.max_passes = 50};
    const RowAwareResult result = refine(instance, options);
    ended += result.local_optimum ? 1 : 0;
    EXPECT_GE(
        best_neighbour(instance, ranks_of(result.slots, instance.ep), home, options),
        result.sum_peaks
    ) << "seed "
      << seed;
  }
  EXPECT_EQ(ended, 40);
}

TEST(RefineLayer, EverySwapEarnsItsPrice) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Instance instance = draw_instance(seed);
    const RankOfExpert home = ranks_of(instance.start, instance.ep);
    const std::int64_t free_gain = refine(instance).sum_before - refine(instance).sum_peaks;
    RowAwareOptions options{.max_passes = 50};
    for (const std::int64_t divisor : {100, 20, 1}) {
      options.price_per_moved = free_gain / divisor + 1;
      const RowAwareResult result = refine(instance, options);
      const std::int64_t gain = result.sum_before - result.sum_peaks;
      EXPECT_GE(gain, options.price_per_moved * result.moved_experts) << "seed " << seed;
      EXPECT_TRUE(result.local_optimum);
    }
    options.price_per_moved = 1 << 30;
    EXPECT_EQ(refine(instance, options).slots, instance.start);
  }
}

TEST(RefineLayer, PaysForMovesAgainstTheCurrentPlacement) {
  // Started elsewhere, a high price brings the experts home.
  const Instance instance = make_instance(5, 24, 4, 9);
  const LayerPlacement current = random_layer(99, 24);
  RowAwareOptions options{.max_passes = 50, .current = &current, .price_per_moved = 1'000'000};
  const RowAwareResult home = refine(instance, options);
  EXPECT_LE(home.moved_experts, 2);  // swaps of two; a cycle of three may stay
  options.price_per_moved = 0;
  const RowAwareResult free = refine(instance, options);
  EXPECT_LE(free.sum_peaks, home.sum_peaks);
  EXPECT_EQ(free.moved_experts, count_moved(ranks_of(current, 4), ranks_of(free.slots, 4)));
}

TEST(RefineLayer, KeepsWithinTheMovesAllowed) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Instance instance = draw_instance(seed);
    for (const std::int64_t limit : {0, 1, 2, 5, 1000}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", limit " + std::to_string(limit));
      const RowAwareResult result = refine(instance, {.max_passes = 50, .max_moved = limit});
      EXPECT_LE(result.moved_experts, limit);
      if (limit <= 1) {  // no swap moves a single expert
        EXPECT_EQ(result.slots, instance.start);
      }
      EXPECT_LE(result.sum_peaks, result.sum_before);
    }
  }
}

TEST(RefineLayer, GivesTheSamePlacementAtEverySimdLevel) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Instance instance = draw_instance(seed);
    const RowAwareResult portable = refine(instance, {.simd = SimdLevel::kPortable});
    for (const SimdLevel level : {SimdLevel::kAvx2, SimdLevel::kAvx512}) {
      if (level <= best_simd_level()) {
        const RowAwareResult other = refine(instance, {.simd = level});
        EXPECT_EQ(other.slots, portable.slots) << "seed " << seed;
        EXPECT_EQ(other.sum_peaks, portable.sum_peaks);
      }
    }
  }
}

TEST(RefineLayer, SumsBeyond32BitsExactly) {
  // Each block holds almost 2^32 pairs, so that lanes overflow from the second vector step on.
  Instance instance = make_instance(1, 16, 4, 60);
  for (std::size_t block = 0; block < 60; ++block) {
    std::uint64_t total = 0;
    for (std::size_t expert = 0; expert < 16; ++expert) {
      total += instance.demand[expert * instance.stride + block];
    }
    for (std::size_t expert = 0; expert < 16; ++expert) {
      std::uint32_t& pairs = instance.demand[expert * instance.stride + block];
      pairs = static_cast<std::uint32_t>(pairs * std::uint64_t{0xffffffffU} / total);
    }
  }
  const RowAwareResult result = refine(instance);
  EXPECT_EQ(result.sum_before, sum_peaks(instance, ranks_of(instance.start, 4)));
  EXPECT_EQ(result.sum_peaks, sum_peaks(instance, ranks_of(result.slots, 4)));
  EXPECT_LT(result.sum_peaks, result.sum_before);
}

TEST(RefineLayer, RefusesABlockAbove32Bits) {
  Instance instance = make_instance(1, 8, 2, 3);
  instance.demand[1] = 0xffffffffU;
  try {
    static_cast<void>(refine(instance));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNumberOutOfRange);
  }
}

TEST(RefineLayer, FindsThePlacementThatSeparatesBlocks) {
  // Experts 0 and 1 are hot in block 0, 2 and 3 in block 1: totals are equal however they pair,
  // the peaks are not.
  Instance instance{4, 2, 2, std::vector<std::uint32_t>(4 * 16, 0), 16, {}};
  instance.demand[0 * 16 + 0] = instance.demand[1 * 16 + 0] = 10;
  instance.demand[2 * 16 + 1] = instance.demand[3 * 16 + 1] = 10;
  instance.start = identity_placement(1, 4, 2).layers[MoeLayer{0}];
  const RowAwareResult result = refine(instance);
  EXPECT_EQ(result.sum_before, 40);
  EXPECT_EQ(result.sum_peaks, 20);
  EXPECT_EQ(result.moved_experts, 2);
}

}  // namespace
}  // namespace routepack
