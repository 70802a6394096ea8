#include "placement/moving/block_descent.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "placement/aggregate/rank_state.hpp"
#include "placement/block_instance.hpp"
#include "routepack/error.hpp"

namespace routepack::placement {
namespace {

using testing::draw_instance;
using testing::Instance;
using testing::make_instance;
using testing::random_layer;
using testing::sum_peaks;

BlockPlacement refine(const Instance& instance, const BlockDescentOptions& options = {}) {
  return refine_layer(instance.demand, instance.num_blocks, instance.ep, instance.start, options);
}

BlockDemand demand_of(const Instance& instance) { return {instance.demand, instance.num_blocks}; }

// A descent from `start` at a price for each expert that is not where the instance starts.
struct Descended {
  std::int64_t gain;  // of Σ of the peaks
  std::int64_t moved;
  bool local_optimum;
  RankOfExpert rank_of;
};
Descended descend(const Instance& instance, const LayerPlacement& start, std::int64_t price) {
  const BlockDemand demand = demand_of(instance);
  BlockDescent descent{
      demand,
      ranks_of(start, instance.ep),
      instance.ep,
      {ranks_of(instance.start, instance.ep), price},
      base::best_simd_level()};
  const std::int64_t before = descent.sum_peaks();
  const bool local_optimum = descent.descend(50);
  return {
      before - descent.sum_peaks(), descent.moved(), local_optimum,
      descent.state().rank_of_experts()};
}

// Lowest Σ of the peaks over all placements one swap away.
std::int64_t best_neighbour(const Instance& instance, RankOfExpert rank_of) {
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (const ExpertId a : ids<ExpertId>(instance.num_experts)) {
    for (const ExpertId b : ids<ExpertId>(a.value())) {
      if (rank_of[a] != rank_of[b]) {
        std::swap(rank_of[a], rank_of[b]);
        best = std::min(best, sum_peaks(instance, rank_of));
        std::swap(rank_of[a], rank_of[b]);
      }
    }
  }
  return best;
}

TEST(RefineLayer, StatesTheSumsOfTheOracleAndNeverGetsWorse) {
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    const Instance instance = draw_instance(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::expect_sound(instance, refine(instance));
  }
}

TEST(BlockDescent, EndsWhereNoSwapPays) {
  // What the bounds prune must be what cannot gain: the oracle tries every swap.
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Instance instance = draw_instance(seed);
    const Descended end = descend(instance, instance.start, 0);
    EXPECT_TRUE(end.local_optimum) << "seed " << seed;
    EXPECT_GE(best_neighbour(instance, end.rank_of), sum_peaks(instance, end.rank_of))
        << "seed " << seed;
  }
}

TEST(BlockDescent, EverySwapEarnsItsPrice) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Instance instance = draw_instance(seed);
    const std::int64_t free_gain = descend(instance, instance.start, 0).gain;
    for (const std::int64_t divisor : {100, 20, 1}) {
      const std::int64_t price = free_gain / divisor + 1;
      const Descended end = descend(instance, instance.start, price);
      EXPECT_GE(end.gain, price * end.moved) << "seed " << seed;
      EXPECT_TRUE(end.local_optimum) << "seed " << seed;
    }
    EXPECT_EQ(descend(instance, instance.start, 1 << 30).moved, 0) << "seed " << seed;
  }
}

TEST(BlockDescent, AHighPriceBringsExpertsHome) {
  const Instance instance = make_instance(5, 24, 4, 9);
  const LayerPlacement start = random_layer(99, 24);
  const Descended home = descend(instance, start, 1'000'000);
  EXPECT_LE(home.moved, 2);  // swaps of two; a cycle of three may stay
  EXPECT_GE(descend(instance, start, 0).gain, home.gain);
}

TEST(RefineLayer, CountsMovesFromTheCurrentPlacement) {
  const Instance instance = make_instance(5, 24, 4, 9);
  const LayerPlacement current = random_layer(99, 24);
  const BlockPlacement result = refine(instance, {.max_passes = 50, .current = &current});
  EXPECT_EQ(result.moved_experts, count_moved(ranks_of(current, 4), ranks_of(result.slots, 4)));
}

TEST(RefineLayer, GivesTheSamePlacementAtEverySimdLevel) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Instance instance = draw_instance(seed);
    const BlockPlacement portable = refine(instance, {.simd = SimdLevel::kPortable});
    for (const SimdLevel level : {SimdLevel::kAvx2, SimdLevel::kAvx512}) {
      if (level <= base::best_simd_level()) {
        const BlockPlacement other = refine(instance, {.simd = level});
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
  const BlockPlacement result = refine(instance);
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
  const BlockPlacement result = refine(instance);
  EXPECT_EQ(result.sum_before, 40);
  EXPECT_EQ(result.sum_peaks, 20);
  EXPECT_EQ(result.moved_experts, 2);
}

}  // namespace
}  // namespace routepack::placement
