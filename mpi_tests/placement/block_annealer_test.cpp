#include "placement/blocks/block_annealer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "placement/block_instance.hpp"
#include "placement/moving/block_descent.hpp"
#include "routepack/error.hpp"

namespace routepack::placement {
namespace {

using testing::draw_instance;
using testing::Instance;
using testing::make_instance;
using testing::random_layer;
using testing::sum_peaks;

const random::Acceptance& acceptance() {
  static const random::Acceptance instance{random::Acceptance::make_table()};
  return instance;
}

struct Settings {
  const LayerPlacement* current = nullptr;
  SimdLevel simd = base::best_simd_level();
};

BlockPlacement anneal(
    const Instance& instance,
    const Settings& settings = {},
    std::int64_t num_moves = 3000,
    std::uint32_t round = 0
) {
  const random::Stream random{5, random::Purpose::kTests, 31};
  return anneal_layer(
      instance.demand, instance.num_blocks, instance.ep, instance.start,
      {num_moves, random, round, acceptance(), settings.current, settings.simd}
  );
}

BlockDemand demand_of(const Instance& instance) { return {instance.demand, instance.num_blocks}; }

std::vector<SimdLevel> levels() {
  std::vector<SimdLevel> levels;
  for (const SimdLevel level : {SimdLevel::kPortable, SimdLevel::kAvx2, SimdLevel::kAvx512}) {
    if (level <= base::best_simd_level()) {
      levels.push_back(level);
    }
  }
  return levels;
}

// Lowest rank with the block's largest load, from nothing.
EpRank slow_peak_rank(const Instance& instance, const RankOfExpert& rank_of, std::size_t block) {
  std::vector<std::int64_t> load(static_cast<std::size_t>(instance.ep), 0);
  for (const ExpertId expert : ids<ExpertId>(instance.num_experts)) {
    load[rank_of[expert].offset()] += instance.demand[expert.offset() * instance.stride + block];
  }
  return EpRank{
      static_cast<std::size_t>(std::max_element(load.begin(), load.end()) - load.begin())};
}

// The lowest sum of all placements, equal ranks; for a dozen experts at most.
std::int64_t lowest_sum(const Instance& instance, RankOfExpert& rank_of, std::int32_t next) {
  if (next == instance.num_experts) {
    return sum_peaks(instance, rank_of);
  }
  std::vector<int> held(static_cast<std::size_t>(instance.ep), 0);
  for (const ExpertId expert : ids<ExpertId>(next)) {
    ++held[rank_of[expert].offset()];
  }
  std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
  for (const EpRank rank : ids<EpRank>(instance.ep)) {
    if (held[rank.offset()] < instance.num_experts / instance.ep) {
      rank_of[ExpertId{next}] = rank;
      lowest = std::min(lowest, lowest_sum(instance, rank_of, next + 1));
    }
    if (held[rank.offset()] == 0) {
      break;  // the other empty ranks are like it
    }
  }
  return lowest;
}

TEST(PeakTree, FollowsExchangesLikeTheOracle) {
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    const Instance instance = draw_instance(seed);
    const auto experts = static_cast<std::uint32_t>(instance.num_experts);
    for (const SimdLevel level : levels()) {
      RankOfExpert rank_of = ranks_of(instance.start, instance.ep);
      const BlockState state{demand_of(instance), rank_of, instance.ep};
      PeakTree tree{state, block_kernels(level, PairObjective::kPeaks)};
      ASSERT_EQ(tree.sum_peaks(), sum_peaks(instance, rank_of));
      for (std::uint64_t number = 0; number < 40; ++number) {
        const random::RandomBits draw =
            random::Stream{seed, random::Purpose::kTests, 32}.at(0, number);
        const ExpertId out{static_cast<std::int32_t>(draw.below(0, experts))};
        const ExpertId in{static_cast<std::int32_t>(draw.below(1, experts))};
        const EpRank a = rank_of[out];
        const EpRank b = rank_of[in];
        if (a == b) {
          continue;
        }
        std::swap(rank_of[out], rank_of[in]);
        const std::int64_t after = sum_peaks(instance, rank_of);
        ASSERT_EQ(tree.sum_after(a, b, out, in), after) << "seed " << seed;
        if (draw.below(2, 2) == 0) {
          tree.exchange(a, b, out, in);
          ASSERT_EQ(tree.sum_peaks(), after) << "seed " << seed;
        } else {
          std::swap(rank_of[out], rank_of[in]);
        }
        const std::size_t block = draw.below(3, static_cast<std::uint32_t>(instance.num_blocks));
        ASSERT_EQ(tree.peak_rank(block), slow_peak_rank(instance, rank_of, block));
      }
    }
  }
}

TEST(AnnealLayer, StatesTheSumsOfTheOracleAndNeverGetsWorse) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Instance instance = draw_instance(seed);
    for (const std::int64_t num_moves : {0, 1, 100, 3000}) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      testing::expect_sound(instance, anneal(instance, {}, num_moves));
    }
  }
}

TEST(AnnealLayer, FindsTheOptimumOfSmallLayers) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Instance instance =
        seed % 2 == 0 ? make_instance(seed, 8, 4, 5) : make_instance(seed, 9, 3, 7);
    RankOfExpert rank_of = ranks_of(instance.start, instance.ep);
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    for (const std::uint32_t round : {0U, 1U, 2U}) {
      best = std::min(best, anneal(instance, {}, 10'000, round).sum_peaks);
    }
    EXPECT_EQ(best, lowest_sum(instance, rank_of, 0)) << "seed " << seed;
  }
}

TEST(AnnealLayer, EndsNoWorseThanADescentWherePlacesAreMany) {
  std::int64_t annealed = 0;
  std::int64_t descended = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    const Instance instance = make_instance(seed, 64, 8, 20);
    annealed += anneal(instance, {}, 20'000).sum_peaks;
    descended += refine_layer(instance.demand, 20, 8, instance.start, {.max_passes = 50}).sum_peaks;
  }
  EXPECT_LT(annealed, descended);
}

TEST(AnnealLayer, CountsMovesFromTheCurrentPlacement) {
  const Instance instance = make_instance(5, 24, 4, 9);
  const LayerPlacement current = random_layer(99, 24);
  const BlockPlacement result = anneal(instance, {.current = &current});
  EXPECT_EQ(result.moved_experts, count_moved(ranks_of(current, 4), ranks_of(result.slots, 4)));
}

TEST(AnnealLayer, GivesTheSamePlacementAtEverySimdLevel) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const Instance instance = draw_instance(seed);
    const BlockPlacement portable = anneal(instance, {.simd = SimdLevel::kPortable});
    for (const SimdLevel level : levels()) {
      EXPECT_EQ(anneal(instance, {.simd = level}).slots, portable.slots) << "seed " << seed;
    }
  }
}

TEST(AnnealLayer, DrawsAnewInAnotherRound) {
  int different = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    const Instance instance = make_instance(seed, 64, 8, 20);
    EXPECT_EQ(anneal(instance, {}, 500, 1).slots, anneal(instance, {}, 500, 1).slots);
    different += anneal(instance, {}, 500, 1).slots != anneal(instance, {}, 500, 2).slots ? 1 : 0;
  }
  EXPECT_GE(different, 8);
}

TEST(AnnealLayer, RefusesABlockAbove32Bits) {
  Instance instance = make_instance(1, 8, 2, 3);
  instance.demand[1] = 0xffffffffU;
  try {
    static_cast<void>(anneal(instance));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNumberOutOfRange);
  }
}

}  // namespace
}  // namespace routepack::placement
