#include "placement/aggregate/place_layer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "placement/aggregate/bounds.hpp"
#include "placement/aggregate/place_experts.hpp"
#include "placement/brute_force.hpp"
#include "placement/make_demand.hpp"

namespace routepack::placement {
namespace {

using testing::Loads;
using Demand = std::vector<std::int64_t>;

const random::Stream kSearch{1, random::Purpose::kPlacement, 0};

LayerPlacement identity_layer(std::size_t num_experts) {
  return identity_placement(1, static_cast<int>(num_experts), 1).layers[MoeLayer{0}];
}

LayerPlacement random_layer(std::uint64_t seed, int num_experts) {
  LayerPlacement layer;
  for (const std::int32_t slot :
       random::random_permutation({seed, random::Purpose::kTests, 7}, 0, num_experts)) {
    layer.push_back(SlotId{slot});
  }
  return layer;
}

// A permutation, and the stated peak is that of the slots.
void expect_consistent(const LayerResult& result, const Demand& demand, int ep) {
  LayerPlacement slots = result.slots;
  const RankState state{demand, ranks_of(slots, ep), ep};
  EXPECT_EQ(result.peak, state.peak());
  EXPECT_LE(result.lower_bound, result.peak);
  std::sort(slots.begin(), slots.end());
  EXPECT_EQ(slots, identity_layer(demand.size()));
}

struct Tiny {
  Demand demand;
  int ep;
};

// Loads from flat with many ties to a few hot experts; E from 2 to 12.
Tiny make_tiny(std::uint64_t seed) {
  constexpr std::array<std::array<int, 2>, 12> kShapes = {
      {{2, 2},
       {4, 2},
       {6, 2},
       {8, 2},
       {10, 2},
       {12, 2},
       {6, 3},
       {9, 3},
       {12, 3},
       {8, 4},
       {12, 4},
       {3, 1}}};
  const random::Stream stream{seed, random::Purpose::kTests, 1};
  const random::RandomBits shape = stream.at(0, 0);
  const auto [num_experts, ep] = kShapes[shape.below(0, kShapes.size())];
  const std::uint32_t limit = std::array{3U, 20U, 1000U}[shape.below(1, 3)];
  const bool squared = shape.below(2, 2) == 1;
  Tiny tiny{{}, ep};
  for (std::uint64_t expert = 0; expert < static_cast<std::uint64_t>(num_experts); ++expert) {
    const std::int64_t pairs = stream.at(1, expert).below(0, limit);
    tiny.demand.push_back(squared ? pairs * pairs : pairs);
  }
  return tiny;
}

TEST(PeakLowerBound, IsNeverAboveTheOptimumAndExactForTwoSlots) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Tiny tiny = make_tiny(seed);
    const std::int64_t bound = peak_lower_bound(tiny.demand, tiny.ep);
    const std::int64_t optimum = testing::optimal_peak(tiny.demand, tiny.ep);
    ASSERT_LE(bound, optimum) << "seed " << seed;
    if (std::ssize(tiny.demand) <= 2 * tiny.ep) {
      ASSERT_EQ(bound, optimum) << "seed " << seed;
    }
  }
}

TEST(PeakLowerBound, SeesTotalsHotExpertsAndPigeonholes) {
  EXPECT_EQ(peak_lower_bound(Demand{5, 5, 4, 3, 3, 0}, 2), 10);   // total
  EXPECT_EQ(peak_lower_bound(Demand{90, 1, 1, 2, 2, 2}, 2), 92);  // hottest with the lightest
  EXPECT_EQ(peak_lower_bound(Demand{9, 9, 9, 0, 0, 0, 0, 0, 0}, 3), 9);
  EXPECT_EQ(peak_lower_bound(Demand{9, 9, 9, 9, 0, 0, 0, 0, 0}, 3), 18);  // two of four meet
  // Two hot experts on two ranks fill the other four slots there with no less than 0, 0, 20, 20.
  EXPECT_EQ(peak_lower_bound(Demand{60, 60, 30, 30, 20, 20, 20, 20, 20, 20, 0, 0}, 4), 80);
}

TEST(RaisePeakBound, IsTheOptimumWhereTheSearchEnds) {
  int num_raised = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Tiny tiny = make_tiny(seed);
    const std::int64_t bound = peak_lower_bound(tiny.demand, tiny.ep);
    const std::int64_t optimum = testing::optimal_peak(tiny.demand, tiny.ep);
    for (const std::int64_t max_steps : {0, 5, 30, 1'000'000}) {
      const std::int64_t raised = raise_peak_bound(tiny.demand, tiny.ep, bound, max_steps);
      ASSERT_GE(raised, bound) << "seed " << seed;
      ASSERT_LE(raised, optimum) << "seed " << seed;
      num_raised += raised > bound ? 1 : 0;
    }
    const auto slots = std::ssize(tiny.demand) / tiny.ep;
    if (slots == 3 || slots == 4) {  // the last steps upwards are 16 times shorter
      const std::int64_t raised = raise_peak_bound(tiny.demand, tiny.ep, bound, 1'000'000);
      ASSERT_GE(raised, optimum - (optimum - bound) / 8) << "seed " << seed;
    }
  }
  EXPECT_GT(num_raised, 200);
}

TEST(RaisePeakBound, GivesUpOnSumsThatDoNotFit) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 60;
  EXPECT_EQ(raise_peak_bound(Demand{kHuge, kHuge, kHuge, 1, 1, 0}, 2, kHuge, 1000), kHuge);
}

// Four experts a rank, as many as no brute force can group: never above what placements reach.
TEST(RaisePeakBound, StaysBelowWhatPlacementsReach) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const Loads loads : {Loads::kUniform, Loads::kLognormal, Loads::kZipf}) {
      const Demand demand = testing::make_demand(loads, 32, seed);
      PlaceEffort effort;
      effort.tuning.search_iterations = 1000;
      const LayerResult result = place_layer(demand, 8, nullptr, effort, kSearch);
      const std::int64_t bound = peak_lower_bound(demand, 8);
      ASSERT_GE(result.lower_bound, bound);
      ASSERT_LE(result.lower_bound, result.peak);
    }
  }
}

TEST(PlaceLayer, FindsTheOptimumOfTinyLayers) {
  constexpr std::uint64_t kLayers = 3000;
  std::uint64_t optimal = 0;
  for (std::uint64_t seed = 0; seed < kLayers; ++seed) {
    const Tiny tiny = make_tiny(seed);
    const LayerResult result = place_layer(tiny.demand, tiny.ep, nullptr, {}, kSearch);
    expect_consistent(result, tiny.demand, tiny.ep);
    const std::int64_t optimum = testing::optimal_peak(tiny.demand, tiny.ep);
    ASSERT_GE(result.peak, optimum) << "seed " << seed;
    ASSERT_LE(result.lower_bound, optimum) << "seed " << seed;
    optimal += result.peak == optimum ? 1 : 0;
  }
  RecordProperty("optimal", static_cast<int>(optimal));
  EXPECT_GE(optimal, kLayers * 999 / 1000);
}

TEST(PlaceLayer, MovesFewExpertsForThatPeak) {
  constexpr std::uint64_t kLayers = 600;
  std::int64_t moved = 0;
  std::int64_t needed = 0;
  for (std::uint64_t seed = 0; seed < kLayers; ++seed) {
    const Tiny tiny = make_tiny(seed);
    if (tiny.demand.size() > 9) {
      continue;
    }
    const LayerPlacement current = random_layer(seed, static_cast<int>(tiny.demand.size()));
    const LayerResult result = place_layer(tiny.demand, tiny.ep, &current, {}, kSearch);
    expect_consistent(result, tiny.demand, tiny.ep);
    const RankOfExpert home = ranks_of(current, tiny.ep);
    const std::int64_t fewest = testing::fewest_moves(tiny.demand, tiny.ep, home, result.peak);
    moved += count_moved(home, ranks_of(result.slots, tiny.ep));
    needed += fewest;
    if (fewest == 0) {
      EXPECT_EQ(result.slots, current) << "seed " << seed;
    }
  }
  RecordProperty("moved", static_cast<int>(moved));
  RecordProperty("needed", static_cast<int>(needed));
  EXPECT_GE(moved, needed);
  EXPECT_LE(static_cast<double>(moved), 1.10 * static_cast<double>(needed));
}

TEST(PlaceLayer, KeepsEmptyAndFlatLayers) {
  for (const std::int64_t pairs : {0, 7}) {
    const LayerPlacement current = random_layer(3, 8);
    EXPECT_EQ(place_layer(Demand(8, pairs), 4, &current, {}, kSearch).slots, current);
    EXPECT_EQ(place_layer(Demand(8, pairs), 4, nullptr, {}, kSearch).slots, identity_layer(8));
  }
}

TEST(PlaceLayer, KeepsAnOptimalPlacementUnderOtherRankNumbers) {
  // Experts 0 and 3 share a rank, 1 and 2 the other: what the greedy finds, renumbered.
  const LayerPlacement current{std::vector<SlotId>{SlotId{2}, SlotId{0}, SlotId{1}, SlotId{3}}};
  const LayerResult result = place_layer(Demand{8, 7, 2, 1}, 2, &current, {}, kSearch);
  EXPECT_EQ(result.peak, 9);
  EXPECT_EQ(result.slots, current);
}

TEST(PlaceLayer, BeatsTheGreedyWhereItIsNotOptimal) {
  const Demand demand{5, 5, 4, 3, 3, 0};
  EXPECT_EQ((RankState{demand, place_greedily(demand, 2), 2}.peak()), 11);
  const LayerPlacement current = identity_layer(6);
  EXPECT_EQ(place_layer(demand, 2, &current, {}, kSearch).peak, 10);
}

struct ModelSize {
  int num_experts;
  int ep;
};

void PrintTo(const ModelSize& size, std::ostream* out) {
  *out << size.num_experts << " experts on " << size.ep << " ranks";
}

class OfModelSize : public ::testing::TestWithParam<std::tuple<Loads, ModelSize>> {};

std::string name_of_case(const ::testing::TestParamInfo<std::tuple<Loads, ModelSize>>& made) {
  const auto& [loads, size] = made.param;
  const char* shape = loads == Loads::kUniform     ? "Uniform"
                      : loads == Loads::kLognormal ? "Lognormal"
                                                   : "Zipf";
  return std::string(shape) + std::to_string(size.num_experts) + "ExpertsOn" +
         std::to_string(size.ep) + "Ranks";
}

TEST_P(OfModelSize, IsWithinATwentiethOfAPercentOfTheBound) {
  const auto& [loads, size] = GetParam();
  double gap = 0.0;
  for (std::uint64_t layer = 0; layer < 10; ++layer) {
    SCOPED_TRACE(layer);
    const Demand demand = testing::make_demand(loads, size.num_experts, layer);
    const LayerResult result = place_layer(demand, size.ep, nullptr, {}, kSearch);
    expect_consistent(result, demand, size.ep);
    const auto bound = static_cast<double>(result.lower_bound);
    gap += static_cast<double>(result.peak) / bound - 1.0;
  }
  EXPECT_LT(gap / 10, 0.0005);
}

INSTANTIATE_TEST_SUITE_P(
    PlaceLayer,
    OfModelSize,
    ::testing::Combine(
        ::testing::Values(Loads::kUniform, Loads::kLognormal, Loads::kZipf),
        ::testing::Values(
            ModelSize{64, 8}, ModelSize{128, 8}, ModelSize{256, 32}, ModelSize{512, 64}
        )
    ),
    name_of_case
);

TEST(PlaceLayer, MovesLessThanAFreshPlacementWhereTheHottestExpertBinds) {
  Demand demand = testing::make_demand(Loads::kLognormal, 128, 5);
  const LayerPlacement current = identity_layer(128);
  demand[17] = 2'000'000;  // alone above the mean of 8 ranks
  const LayerResult result = place_layer(demand, 8, &current, {}, kSearch);
  EXPECT_EQ(result.peak, result.lower_bound);
  // Its 15 neighbours are the lightest experts; they and what they replace move, nothing else.
  EXPECT_LE(count_moved(ranks_of(current, 8), ranks_of(result.slots, 8)), 30);
}

TEST(PartitionEvenly, GivesThePartsOfThePlacementOfAsManyExperts) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Demand weights = testing::make_demand(Loads::kLognormal, 24, seed);
    const LayerPlacement current = identity_layer(24);
    std::vector<std::int32_t> present;
    for (const EpRank rank : ranks_of(current, 6)) {
      present.push_back(rank.value());
    }
    const RankOfExpert expected = ranks_of(place_layer(weights, 6, &current, {}, kSearch).slots, 6);
    const std::vector<std::int32_t> parts = partition_evenly(weights, present, 6, {}, kSearch);
    for (const ExpertId item : ids<ExpertId>(24)) {
      EXPECT_EQ(parts[item.offset()], expected[item].value()) << "seed " << seed;
    }
  }
}

TEST(PlaceLayer, PeakDoesNotDependOnTheNamesOfExperts) {
  // Without a current placement the search starts at the identity, which depends on names: the
  // peaks may differ by what the search leaves, never more.
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Tiny tiny = make_tiny(seed);
    const LayerResult first = place_layer(tiny.demand, tiny.ep, nullptr, {}, kSearch);
    Demand renamed;
    for (const std::int32_t expert : random::random_permutation(
             {seed, random::Purpose::kTests, 2}, 0, static_cast<std::int32_t>(tiny.demand.size())
         )) {
      renamed.push_back(tiny.demand[static_cast<std::size_t>(expert)]);
    }
    const LayerResult second = place_layer(renamed, tiny.ep, nullptr, {}, kSearch);
    EXPECT_EQ(first.lower_bound, second.lower_bound);
    EXPECT_EQ(first.peak, second.peak) << "seed " << seed;
  }
}

TEST(PlaceLayer, TakesLoadsNearTheLimitOfInt64) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 60;
  const LayerResult result =
      place_layer(Demand{kHuge, kHuge, kHuge, 1, 2, kHuge / 2}, 2, nullptr, {}, kSearch);
  EXPECT_EQ(result.peak, 2 * kHuge + 1);
}

}  // namespace
}  // namespace routepack::placement
