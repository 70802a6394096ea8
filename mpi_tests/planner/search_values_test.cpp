// What a search is made of, on its own: what it may spend, which plan is better, and the population
// that goes from placement to placement.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "comm/agreement.hpp"
#include "planner/budget.hpp"
#include "planner/goal.hpp"
#include "planner/placed_population.hpp"
#include "support/plan_problem.hpp"

namespace routepack::planner {
namespace {

SearchOptions sweeps_of(std::int64_t sweeps) { return {.num_chains = 1, .num_sweeps = sweeps}; }

TEST(Budget, SharesAddUpToAllSweeps) {
  for (const std::int64_t sweeps : {0, 1, 7, 40, 1000, 999'999}) {
    Budget budget(sweeps_of(sweeps), 0.0, base::Stopwatch{}, domain::Tuning{});
    std::int64_t total = 0;
    for (const double share : {0.25, 0.125, 0.125, 0.0, 0.4375, 0.0625}) {
      const annealing::Round round = budget.spend(share);
      EXPECT_LE(
          std::abs(static_cast<double>(round.num_sweeps) - share * static_cast<double>(sweeps)), 1.0
      );
      EXPECT_EQ(round.deadline_seconds, 0.0);
      total += round.num_sweeps;
    }
    EXPECT_EQ(total, sweeps);
  }
}

TEST(Budget, DeadlinesLeaveWhatIsSpentBeforeAndAfter) {
  domain::Tuning tuning;
  tuning.search.share_after_search = 0.1;
  Budget budget({.num_chains = 1, .time_limit_seconds = 100.0}, 10.0, base::Stopwatch{}, tuning);
  EXPECT_DOUBLE_EQ(budget.spend(0.25).deadline_seconds, 20.0);  // of 100 - 10 - 10
  EXPECT_DOUBLE_EQ(budget.spend(0.75).deadline_seconds, 80.0);
  EXPECT_DOUBLE_EQ(budget.seconds_of(0.1), 10.0);
  Budget spent({.num_chains = 1, .time_limit_seconds = 1.0}, 5.0, base::Stopwatch{}, tuning);
  EXPECT_GT(spent.spend(1.0).deadline_seconds, 0.0);  // 0 would be none
  EXPECT_EQ(Budget(sweeps_of(5), 0.0, base::Stopwatch{}, tuning).seconds_of(0.1), INFINITY);
}

// By hand: a chain makes 80,000 moves; an eighth of them for 4 layers are 2,500 swaps.
TEST(Budget, SwapsOfAPlacementFollowTheSweeps) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Budget budget(sweeps_of(5), 0.0, base::Stopwatch{}, domain::Tuning{});
  const domain::Tuning::PlacementTurn turn{10'000, 0.03};
  EXPECT_EQ(budget.swaps_per_layer(turn, 80'000, 4, world), 2'500);
  EXPECT_EQ(budget.swaps_per_layer(turn, 8'000'000, 4, world), 10'000);
  EXPECT_EQ(budget.swaps_per_layer(turn, 80, 4, world), 500);
  EXPECT_EQ(budget.swaps_per_layer(turn, 0, 0, world), 500);
}

// With a time limit: few until the speed is known, then as many as fit the share of the limit.
TEST(Budget, SwapsOfAPlacementFollowTheSpeed) {
  const comm::Communicator world(MPI_COMM_WORLD);
  Budget budget(
      {.num_chains = 1, .time_limit_seconds = 100.0}, 0.0, base::Stopwatch{}, domain::Tuning{}
  );
  const domain::Tuning::PlacementTurn turn{10'000, 0.03};
  EXPECT_EQ(budget.swaps_per_layer(turn, 0, 4, world), 5'000);
  budget.note_swaps(-1e6, 1);  // a swap took more than a million seconds
  EXPECT_EQ(budget.swaps_per_layer(turn, 0, 4, world), 0);
  budget.note_swaps(0.0, 1'000'000'000'000);
  EXPECT_EQ(budget.swaps_per_layer(turn, 0, 4, world), 400'000);
  EXPECT_TRUE(budget.affords_another(0.0, 0.5, world));
  EXPECT_FALSE(budget.affords_another(-1e6, 0.5, world));
  EXPECT_TRUE(budget.has_time_to_place(world));
  budget.note_placement(-1e6);
  EXPECT_FALSE(budget.has_time_to_place(world));
}

TEST(CompleteOptions, LeavesWhatIsGivenAndFillsInTheRest) {
  testing::SearchInstance instance = testing::make_instance({.num_samples = 512}, 3);
  connect(instance, {.dp = 4, .ep = 2});
  domain::Tuning tuning;
  const SearchOptions given =
      complete_options({.num_chains = 7, .num_sweeps = 11}, instance.problem, tuning, 3);
  EXPECT_EQ(given.num_chains, 7);
  EXPECT_EQ(given.num_sweeps, 11);
  EXPECT_EQ(
      complete_options({.time_limit_seconds = 1.0}, instance.problem, tuning, 3).num_chains, 3
  );
  tuning.effort.num_chains = 5;
  tuning.effort.seconds_per_chain = 0.0;
  const SearchOptions open = complete_options({}, instance.problem, tuning, 3);
  EXPECT_EQ(open.num_chains, 5);
  EXPECT_EQ(open.num_sweeps, tuning.effort.min_sweeps);
}

// A window under the identity and under another placement.
class Searched : public ::testing::Test {
 protected:
  Searched() {
    testing::Draws draws{17};
    const WindowSlice window = testing::make_window({.num_samples = 40, .num_layers = 3}, draws);
    slice_ = testing::slice_of(window, world_);
    padded_ = packing::pad_lengths(window.lengths, 1, 400);
    layout_ = {3, 4, {}};
    for (int sample = 0; sample < 40; ++sample) {
      layout_.cell_of_sample.push_back(CellId{sample % layout_.num_cells()});
    }
    for (const bool swaps : {false, true}) {
      Placement placement = identity_placement(3, 8, 2);
      if (swaps) {
        LayerPlacement& layer = placement.layers[MoeLayer{1}];
        std::swap(layer[ExpertId{0}], layer[ExpertId{7}]);
      }
      placed_[swaps ? 1 : 0] = std::make_shared<const PlacedWindow>(
          slice_, padded_, options_, 3, placement, node_, world_
      );
    }
  }

  [[nodiscard]] objective::SearchScore score_of(std::size_t placed) const {
    return objective::SearchState(placed_[placed]->problem(), layout_, SimdLevel::kPortable)
        .score();
  }
  [[nodiscard]] Candidate candidate(std::size_t placed, objective::SearchScore score) const {
    return {placed_[placed], layout_, score};
  }

  comm::Communicator world_{MPI_COMM_WORLD};
  comm::Communicator node_ = world_.split_by_node();
  PlanOptions options_ = testing::options_for({.dp = 4, .ep = 2}, 400);
  WindowSlice slice_;
  packing::PaddedLengths padded_;
  CellLayout layout_;
  std::array<Placed, 2> placed_;
};

TEST_F(Searched, APlacementIsTakenOnlyWhereTheRuleSaysSo) {
  PlacedPopulation population(
      placed_[0], [&](ChainId) { return layout_; }, {1, 3, 1, SimdLevel::kPortable}, {0.1, 0.01},
      {}, world_
  );
  ASSERT_NE(score_of(0), score_of(1));
  EXPECT_EQ(population.best_score(), score_of(0));
  for (const bool takes : {false, true}) {
    population.offer(
        placed_[1],
        [&](const objective::SearchScore& there, const objective::SearchScore& here) {
          EXPECT_EQ(there, score_of(1));
          EXPECT_EQ(here, score_of(0));
          return takes;
        }
    );
    EXPECT_EQ(population.placed(), placed_[takes ? 1 : 0]);
    EXPECT_EQ(population.best_score(), score_of(takes ? 1 : 0));
    EXPECT_EQ(population.best_layout(), layout_);
  }
}

TEST_F(Searched, APlacementLivesAsLongAsThePopulationNeedsIt) {
  PlacedPopulation population(
      std::exchange(placed_[0], nullptr), [&](ChainId) { return layout_; },
      {1, 3, 1, SimdLevel::kPortable}, {0.1, 0.01}, {}, world_
  );
  population.anneal({1.0, 1.0, 3}, {.num_sweeps = 6}, base::Stopwatch{}, {});
  population.move_to(std::exchange(placed_[1], nullptr));
  population.anneal({1.0, 1.0, 3}, {.num_sweeps = 6}, base::Stopwatch{}, {});
  const Candidate best = population.best();
  EXPECT_EQ(
      objective::SearchState(best.placed->problem(), best.layout, SimdLevel::kPortable).score(),
      best.score
  );
  EXPECT_EQ(population.sweeps_done(), 12);
}

TEST_F(Searched, TheBestIsImprovedByGainsAndOnWishByTies) {
  const Goal goal;
  Best best(goal);
  EXPECT_TRUE(best.is_empty());
  best.improve(candidate(0, {100, 150}), Tie::kFirst);
  best.improve(candidate(0, {100, 140}), Tie::kFirst);
  EXPECT_EQ(best.plan().score, (objective::SearchScore{100, 150}));
  best.improve(candidate(0, {100, 140}), Tie::kLowerScore);
  EXPECT_EQ(best.plan().score, (objective::SearchScore{100, 140}));
  best.improve(candidate(1, {101, 101}), Tie::kLowerScore);
  EXPECT_EQ(best.plan().score, (objective::SearchScore{100, 140}));
  best.improve(candidate(1, {99, 200}), Tie::kFirst);
  EXPECT_EQ(best.plan().score, (objective::SearchScore{99, 200}));
  EXPECT_EQ(best.plan().placed, placed_[1]);
}

// Placement 1 moves two experts against placement 0.
TEST_F(Searched, APriceIsPaidButNotForAPlanWorseThanReorder) {
  Goal goal;
  goal.units_per_cost = 2.0;
  goal.current = &placed_[0]->placement();
  goal.price = 3.0;
  goal.reorder = 110;
  const Placement& stays = placed_[0]->placement();
  const Placement& moves = placed_[1]->placement();
  const objective::SearchScore hundred{100, 100};
  EXPECT_DOUBLE_EQ(total_of({hundred, stays}, goal), 50.0);
  EXPECT_DOUBLE_EQ(total_of({hundred, moves}, goal), 56.0);
  const auto gains_from_moving = [&](std::int64_t there, std::int64_t here) {
    return gains({{there, there}, moves}, {{here, here}, stays}, goal);
  };
  EXPECT_FALSE(gains_from_moving(88, 100));  // saves 6, costs 6
  EXPECT_TRUE(gains_from_moving(87, 100));
  const auto gains_from_staying = [&](std::int64_t there, std::int64_t here) {
    return gains({{there, there}, stays}, {{here, here}, moves}, goal);
  };
  EXPECT_TRUE(gains_from_staying(110, 100));
  EXPECT_FALSE(gains_from_staying(111, 100));  // would be worth it, but passes reorder
  EXPECT_TRUE(gains_from_staying(111, 111));   // which the other did already
}

}  // namespace
}  // namespace routepack::planner
