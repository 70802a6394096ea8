#include "placement/moving/choose_migrations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "placement/aggregate/rank_state.hpp"
#include "placement/make_demand.hpp"

namespace routepack::placement {
namespace {

constexpr int kExperts = 64;
constexpr int kRanks = 8;
constexpr int kBlocks = 5;
constexpr int kLayers = 6;
const random::Stream kSearch{1, random::Purpose::kPlacement, 0};

struct Layers {
  IndexVector<MoeLayer, std::vector<std::uint32_t>> blocks;  // [E][16] each
  IndexVector<MoeLayer, std::vector<std::int64_t>> totals;   // [E] each
};

Layers make_layers() {
  Layers layers;
  for (std::uint64_t seed = 0; seed < kLayers; ++seed) {
    layers.blocks.push_back(testing::make_block_demand(kExperts, kBlocks, 500.0, 0.3, seed));
    std::vector<std::int64_t> totals(kExperts, 0);
    for (std::size_t at = 0; at < layers.blocks[MoeLayer{seed}].size(); ++at) {
      totals[at / kBlockLanes] += layers.blocks[MoeLayer{seed}][at];
    }
    layers.totals.push_back(totals);
  }
  return layers;
}

// Σ over blocks of the peaks, or the peak of the totals where `rows` is false. From nothing.
std::int64_t objective_of(
    const Layers& layers, MoeLayer layer, const RankOfExpert& rank_of, bool rows
) {
  std::int64_t sum = 0;
  for (std::size_t block = 0; block < (rows ? kBlocks : 1U); ++block) {
    std::vector<std::int64_t> load(kRanks, 0);
    for (const ExpertId expert : ids<ExpertId>(kExperts)) {
      load[rank_of[expert].offset()] +=
          rows ? layers.blocks[layer][expert.offset() * kBlockLanes + block]
               : layers.totals[layer][expert.offset()];
    }
    sum += *std::max_element(load.begin(), load.end());
  }
  return sum;
}

SwapTrajectory make_trajectory(
    const Layers& layers, MoeLayer layer, const LayerPlacement& current, bool rows
) {
  return rows ? block_trajectory(layers.blocks[layer], kBlocks, kRanks, current, {}, kSearch)
              : peak_trajectory(layers.totals[layer], kRanks, current, {}, kSearch);
}

class Migration : public ::testing::TestWithParam<bool> {
 protected:
  Migration() {
    for (const MoeLayer layer : ids<MoeLayer>(kLayers)) {
      trajectories_.push_back(make_trajectory(layers_, layer, current_.layers[layer], GetParam()));
    }
  }
  Layers layers_ = make_layers();
  Placement current_ = identity_placement(kLayers, kExperts, kRanks);
  IndexVector<MoeLayer, SwapTrajectory> trajectories_;
};

TEST_P(Migration, EveryStepStatesWhatARecountGives) {
  for (const MoeLayer layer : ids<MoeLayer>(kLayers)) {
    const SwapTrajectory& trajectory = trajectories_[layer];
    const RankOfExpert home = ranks_of(current_.layers[layer], kRanks);
    EXPECT_EQ(trajectory.objective, objective_of(layers_, layer, home, GetParam()));
    std::size_t steps = 0;
    for (const SwapPath& path : trajectory.paths) {
      RankOfExpert rank_of = home;
      for (const SwapStep& step : path) {
        ASSERT_NE(rank_of[step.a], rank_of[step.b]);
        std::swap(rank_of[step.a], rank_of[step.b]);
        ASSERT_EQ(step.objective, objective_of(layers_, layer, rank_of, GetParam()));
        ASSERT_EQ(step.moved_experts, count_moved(home, rank_of));
        ++steps;
      }
    }
    EXPECT_GT(steps, 0U);
    const RankOfExpert free = ranks_of(trajectory.free_slots, kRanks);
    EXPECT_EQ(trajectory.free_objective, objective_of(layers_, layer, free, GetParam()));
    EXPECT_EQ(trajectory.free_moved_experts, count_moved(home, free));
  }
}

TEST_P(Migration, PointsKeepTheirBudgetAndStateTheirObjective) {
  const std::vector<std::int64_t> budgets = front_budgets(current_);
  const std::vector<MigrationChoice> front = choose_migrations(trajectories_, current_, budgets);
  ASSERT_EQ(front.size(), 7U);
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
  for (std::size_t point = 0; point < front.size(); ++point) {
    const MigrationChoice& choice = front[point];
    EXPECT_EQ(choice.max_moved, budgets[point]);
    EXPECT_LE(choice.moved_experts, budgets[point]);
    EXPECT_EQ(choice.moved_experts, count_moved_experts(current_, choice.placement));
    validate_placement(choice.placement, kLayers, kExperts);
    std::int64_t objective = 0;
    for (const MoeLayer layer : ids<MoeLayer>(kLayers)) {
      const RankOfExpert rank_of = ranks_of(choice.placement.layers[layer], kRanks);
      objective += objective_of(layers_, layer, rank_of, GetParam());
    }
    EXPECT_EQ(choice.objective, objective);
    EXPECT_LE(choice.objective, last);
    last = choice.objective;
  }
  EXPECT_EQ(front[0].placement, current_);
  std::int64_t free = 0;
  for (const SwapTrajectory& trajectory : trajectories_) {
    free += trajectory.free_objective;
  }
  EXPECT_LE(front[6].objective, free);
}

INSTANTIATE_TEST_SUITE_P(Objectives, Migration, ::testing::Bool());

// Layers of up to five made-up options; what they do to experts does not matter here.
SwapTrajectory draw_trajectory(std::uint64_t seed, const LayerPlacement& current) {
  const random::Stream stream{seed, random::Purpose::kTests, 3};
  SwapTrajectory trajectory{1000, {{}}, current, 0, 9};
  std::int64_t moved = 0;
  for (std::uint64_t step = 0; step < stream.at(0, 0).below(0, 5); ++step) {
    const random::RandomBits draw = stream.at(1, step);
    moved += draw.below(0, 4);
    trajectory.paths[0].push_back({ExpertId{0}, ExpertId{1}, 400 + draw.below(1, 700), moved});
  }
  trajectory.free_objective = 300 + stream.at(2, 0).below(0, 700);
  return trajectory;
}

TEST(ChooseMigrations, IsTheExactOptimumOverAllCombinations) {
  const Placement current = identity_placement(4, 2, 2);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    IndexVector<MoeLayer, SwapTrajectory> trajectories;
    for (const MoeLayer layer : ids<MoeLayer>(4)) {
      trajectories.push_back(draw_trajectory(4 * seed + layer.offset(), current.layers[layer]));
    }
    // (moved, objective) of all combinations, layer by layer.
    std::vector<SwapStep> sums = {{}};
    for (const SwapTrajectory& trajectory : trajectories) {
      std::vector<SwapStep> options = trajectory.paths[0];
      options.push_back({{}, {}, trajectory.objective, 0});
      options.push_back({{}, {}, trajectory.free_objective, trajectory.free_moved_experts});
      std::vector<SwapStep> next;
      for (const SwapStep& sum : sums) {
        for (const SwapStep& option : options) {
          next.push_back(
              {{}, {}, sum.objective + option.objective, sum.moved_experts + option.moved_experts}
          );
        }
      }
      sums = std::move(next);
    }
    for (const std::int64_t budget : {0, 1, 5, 12, 100}) {
      SwapStep best{{}, {}, std::numeric_limits<std::int64_t>::max(), 0};
      for (const SwapStep& sum : sums) {
        if (sum.moved_experts <= budget && std::pair(sum.objective, sum.moved_experts) <
                                               std::pair(best.objective, best.moved_experts)) {
          best = sum;
        }
      }
      const MigrationChoice choice =
          choose_migrations(trajectories, current, std::array{budget}).front();
      EXPECT_EQ(choice.objective, best.objective) << "seed " << seed << ", budget " << budget;
      EXPECT_EQ(choice.moved_experts, best.moved_experts) << "seed " << seed;
    }
  }
}

TEST(ChooseMigrations, KeepsNineTenthsOfTheGainAtATenthOfTheMovesAfterDrift) {
  constexpr int kMany = 128;
  Placement current = identity_placement(kLayers, kMany, kRanks);
  IndexVector<MoeLayer, SwapTrajectory> trajectories;
  for (const MoeLayer layer : ids<MoeLayer>(kLayers)) {
    std::vector<std::int64_t> demand =
        testing::make_demand(testing::Loads::kLognormal, kMany, layer.offset());
    LayerPlacement& slots = current.layers[layer];
    slots = place_layer(demand, kRanks, nullptr, {}, kSearch).slots;
    const random::Stream drift{layer.offset(), random::Purpose::kTests, 4};
    for (std::size_t expert = 0; expert < demand.size(); ++expert) {
      const double factor = std::exp(0.2 * testing::normal(drift.at(0, expert)));
      demand[expert] = std::llround(static_cast<double>(demand[expert]) * factor);
    }
    trajectories.push_back(peak_trajectory(demand, kRanks, slots, {}, kSearch));
  }
  const auto front = choose_migrations(trajectories, current, front_budgets(current));
  const std::int64_t free = front[6].objective;
  EXPECT_LT(10 * (front[4].objective - free), front[0].objective - free);
}

TEST(ChooseMigrations, TakesModelsWithoutMoeLayers) {
  const Placement none = identity_placement(0, 8, 2);
  const auto front = choose_migrations({}, none, front_budgets(none));
  EXPECT_EQ(front.back().moved_experts, 0);
}

}  // namespace
}  // namespace routepack::placement
