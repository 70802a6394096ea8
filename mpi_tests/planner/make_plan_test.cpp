// Whole plans of small windows: valid, the same on any number of ranks, optimal where that is
// known.
#include <gtest/gtest.h>

#include <algorithm>

#include "comm/agreement.hpp"
#include "comm/communicator.hpp"
#include "objective/evaluate.hpp"
#include "objective/search_state.hpp"
#include "packing/lengths.hpp"
#include "planner/planner.hpp"
#include "planner/polish.hpp"
#include "planner/report.hpp"
#include "support/expect_error.hpp"
#include "support/plan_problem.hpp"

namespace routepack::planner {
namespace {

using testing::InstanceShape;
using testing::options_for;
using testing::slice_of;

class MakePlan : public ::testing::Test {
 protected:
  Plan plan_of(const WindowSlice& window, const PlanOptions& options) {
    return make_plan(slice_of(window, world_), options, MPI_COMM_WORLD);
  }
  comm::Communicator world_{MPI_COMM_WORLD};
  comm::Communicator alone_{MPI_COMM_SELF};
};

TEST_F(MakePlan, IsTheSameAtAnyNumberOfRanksAndThreads) {
  testing::Draws draws{1};
  const InstanceShape shape{.num_samples = 50, .num_layers = 7, .num_experts = 16};
  const WindowSlice window = testing::make_window(shape, draws);
  PlanOptions options = options_for({.dp = 4, .ep = 4, .tp = 2}, 150);
  const Plan expected = make_plan(window, options, alone_.get());
  const Plan got = plan_of(window, options);
  EXPECT_EQ(got.digest, expected.digest);
  EXPECT_EQ(got.placement, expected.placement);
  EXPECT_EQ(got.layout, expected.layout);
  EXPECT_EQ(got.routepack.score, expected.routepack.score);
  EXPECT_EQ(got.lower_bound.max_shard, expected.lower_bound.max_shard);
  options.search.num_threads = 2;
  EXPECT_EQ(plan_of(window, options).digest, expected.digest);
  options.search.seed = 2;
  EXPECT_NE(plan_of(window, options).layout, expected.layout);
}

struct ReorderCase {
  Topology topology;
  int num_samples;
};

void PrintTo(const ReorderCase& made, std::ostream* out) {
  *out << made.num_samples << " samples, DP " << made.topology.dp;
}

class MakePlanOf : public MakePlan, public ::testing::WithParamInterface<ReorderCase> {};

TEST_P(MakePlanOf, IsNeverWorseThanReorderAndReportsItsFigures) {
  const auto& [topology, num_samples] = GetParam();
  testing::Draws draws{static_cast<std::uint32_t>(num_samples)};
  const InstanceShape shape{.num_samples = num_samples, .num_layers = 3, .num_experts = 8};
  const WindowSlice window = testing::make_window(shape, draws);
  const PlanOptions options = options_for(topology, 200);
  const Plan plan = plan_of(window, options);
  check_plan(plan, packing::pad_lengths(window.lengths, 1, 200), domain::cell_rules(options, 2));
  if (plan.reorder.rows == plan.routepack.rows) {
    EXPECT_LE(plan.objective, plan.reorder.score);
  }
  EXPECT_GE(plan.gap(), -1e-12);
  EXPECT_LT(plan.gap(), 0.5);
  EXPECT_FALSE(plan.time_limited());
  EXPECT_EQ(plan.search.num_sweeps, 40);
  EXPECT_EQ(plan.window.num_samples, num_samples);
}

INSTANTIATE_TEST_SUITE_P(
    Sizes,
    MakePlanOf,
    ::testing::Values(
        ReorderCase{{.dp = 4, .ep = 2}, 30},
        ReorderCase{{.dp = 2, .ep = 2}, 35},
        ReorderCase{{.dp = 4, .ep = 2}, 40},
        ReorderCase{{.dp = 2, .ep = 2}, 45},
        ReorderCase{{.dp = 4, .ep = 2}, 50},
        ReorderCase{{.dp = 2, .ep = 2}, 55}
    ),
    [](const auto& made) {
      return std::to_string(made.param.num_samples) + "SamplesOnDp" +
             std::to_string(made.param.topology.dp);
    }
);

// Four samples of one token each use one expert: only the pairing decides the peak.
TEST_F(MakePlan, PairsSamplesThatUseDifferentExperts) {
  WindowSlice window;
  window.shape = {4, {0}, 1, 4, 1, ""};
  window.lengths = {100, 100, 100, 100};
  window.demand = {100, 0, 0, 0, 100, 0, 0, 0, 0, 0, 100, 0, 0, 0, 100, 0};
  const Plan plan = plan_of(window, options_for({.dp = 2, .ep = 2}, 100));
  EXPECT_EQ(plan.rows.num_rows, 2);
  EXPECT_DOUBLE_EQ(plan.routepack.ep_peak_sum, 2.0);  // 200 pairs by 100 tokens
  EXPECT_EQ(plan.rows.status, RowStatus::kCertified);
}

class MakePlanBySeed : public MakePlan, public ::testing::WithParamInterface<std::uint32_t> {};

INSTANTIATE_TEST_SUITE_P(
    Seeds, MakePlanBySeed, ::testing::Range(0U, 5U), ::testing::PrintToStringParamName()
);

// Every layout of a dense window of six samples, against the search.
TEST_P(MakePlanBySeed, FindsTheOptimumOfTinyDenseWindows) {
  testing::Draws draws{100 + GetParam()};
  WindowSlice window;
  window.shape.num_samples = 6;
  for (int sample = 0; sample < 6; ++sample) {
    window.lengths.push_back(1 + draws.below(50));
  }
  PlanOptions options = options_for({.dp = 2, .ep = 1}, 100);
  const Plan plan = plan_of(window, options);
  const packing::PaddedLengths padded = packing::pad_lengths(window.lengths, 1, 100);
  double best = 1e300;
  CellLayout layout{plan.rows.num_rows, 2, IndexVector<SampleId, CellId>{6U}};
  const int cells = layout.num_cells();
  int codes = 1;
  for (int sample = 0; sample < 6; ++sample) {
    codes *= cells;
  }
  for (int code = 0; code < codes; ++code) {
    int rest = code;
    for (int sample = 0; sample < 6; ++sample) {
      layout.cell_of_sample[SampleId{sample}] = CellId{rest % cells};
      rest /= cells;
    }
    if (find_layout_fault(layout, padded, 100).empty()) {
      best = std::min(
          best, objective::compute_metrics(
                    objective::sum_cells(layout, padded), {}, 0, options.topology, options.cost
                )
                    .score.max_shard
      );
    }
  }
  EXPECT_NEAR(plan.objective.max_shard, best, 1e-9 * best);
}

// Where nothing fits beside most of the long samples, their blocks decide.
TEST_F(MakePlan, StaysAboveTheBoundOfLongSamples) {
  testing::Draws draws{6};
  int num_raised = 0;
  for (int trial = 0; trial < 12; ++trial) {
    WindowSlice window;
    window.shape.num_samples = 24;
    for (int sample = 0; sample < 24; ++sample) {
      window.lengths.push_back(sample < 11 ? 80 + draws.below(21) : 20 + draws.below(10));
    }
    const Plan plan = plan_of(window, options_for({.dp = 4, .ep = 4}, 100));
    num_raised += plan.lower_bound.kind == "mean_shard_long_samples" ? 1 : 0;
    EXPECT_GE(plan.gap(), -1e-12) << "trial " << trial;
    EXPECT_LT(plan.gap(), 0.05) << "trial " << trial;
  }
  EXPECT_GE(num_raised, 6);
}

TEST_F(MakePlan, KeepsAPlacementThatIsAlreadyBalanced) {
  WindowSlice window;
  window.shape = {4, {0}, 1, 4, 1, ""};
  window.lengths = {40, 40, 40, 40};
  window.demand = {10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10};
  PlanOptions options = options_for({.dp = 2, .ep = 2}, 100);
  Placement current = identity_placement(1, 4, 2);
  std::swap(current.layers[MoeLayer{0}][ExpertId{0}], current.layers[MoeLayer{0}][ExpertId{3}]);
  options.current_placement = current;
  const Plan plan = plan_of(window, options);
  EXPECT_EQ(plan.placement, current);
  EXPECT_EQ(plan.moved_experts, 0);
}

// Placement with every layer's experts dealt at random.
Placement random_placement(const WindowShape& shape, int ep, testing::Draws& draws) {
  Placement placement = identity_placement(shape.num_moe_layers(), shape.num_experts, ep);
  for (LayerPlacement& layer : placement.layers) {
    for (std::size_t last = layer.size() - 1; last > 0; --last) {
      const auto other = static_cast<std::size_t>(draws.below(static_cast<std::int64_t>(last) + 1));
      std::swap(layer[ExpertId{last}], layer[ExpertId{other}]);
    }
  }
  return placement;
}

class MakePlanAtPrice : public MakePlan, public ::testing::WithParamInterface<int> {};

TEST_P(MakePlanAtPrice, NoPointOfTheFrontIsCheaper) {
  testing::Draws draws{200 + static_cast<std::uint32_t>(GetParam())};
  const InstanceShape shape{.num_samples = 40, .num_layers = 4, .num_experts = 32};
  const WindowSlice window = testing::make_window(shape, draws);
  PlanOptions options = options_for({.dp = 2, .ep = 2}, 200);
  options.cost.stages = {{"full", 0.1, 0.0}};
  options.current_placement = random_placement(window.shape, 2, draws);
  options.migration.cost_per_expert = 0.02 * GetParam();
  const Plan plan = plan_of(window, options);
  const double price = options.migration.cost_per_expert;
  const auto total = [&](double max_shard, std::int64_t moved) {
    return max_shard + price * static_cast<double>(moved);
  };
  ASSERT_EQ(plan.migration_front.size(), 7U);
  EXPECT_EQ(plan.migration_front[0].moved_experts, 0);
  for (const MigrationPoint& point : plan.migration_front) {
    if (point.max_shard <= plan.reorder.score.max_shard) {
      EXPECT_LE(
          total(plan.objective.max_shard, plan.moved_experts),
          total(point.max_shard, point.moved_experts) * (1.0 + 1e-9)
      ) << "limit "
        << point.max_moved_fraction;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    InFiftieths, MakePlanAtPrice, ::testing::Range(1, 13), ::testing::PrintToStringParamName()
);

TEST_F(MakePlan, APointOfTheFrontNamesTheMovesThatItsCostTakes) {
  testing::Draws draws{8};
  const InstanceShape shape{.num_samples = 30, .num_layers = 3, .num_experts = 16};
  const WindowSlice window = testing::make_window(shape, draws);
  PlanOptions options = options_for({.dp = 2, .ep = 2}, 200);
  options.current_placement = random_placement(window.shape, 2, draws);
  const Plan plan = plan_of(window, options);
  for (std::size_t n = 1; n < plan.migration_front.size(); ++n) {
    const MigrationPoint& before = plan.migration_front[n - 1];
    const MigrationPoint& point = plan.migration_front[n];
    EXPECT_LE(static_cast<double>(point.moved_experts), point.max_moved_fraction * 3 * 16 + 1e-6);
    EXPECT_LE(point.max_shard, before.max_shard);
    EXPECT_EQ(point.max_shard == before.max_shard, point.moved_experts == before.moved_experts);
  }
}

TEST_F(MakePlan, NothingPaysForAMoveWhereExpertsCostNothing) {
  testing::Draws draws{9};
  const WindowSlice window = testing::make_window({.num_samples = 30, .num_experts = 8}, draws);
  PlanOptions options = options_for({.dp = 4, .ep = 4}, 200);
  options.current_placement = random_placement(window.shape, 4, draws);
  options.cost.expert_weight = 0.0;
  options.migration.cost_per_expert = 1e-3;
  const Plan plan = plan_of(window, options);
  EXPECT_EQ(plan.moved_experts, 0);
  EXPECT_EQ(plan.placement, *options.current_placement);
}

TEST_F(MakePlan, EveryRankThrowsTheSameError) {
  testing::Draws draws{5};
  const WindowSlice window = testing::make_window({.num_samples = 10, .num_experts = 8}, draws);
  testing::expect_error(ErrorCode::kSampleExceedsCap, "", [&] {
    (void)plan_of(window, options_for({.dp = 2, .ep = 2}, 3));
  });
  testing::expect_error(ErrorCode::kExpertsNotDivisible, "ep = 3", [&] {
    (void)plan_of(window, options_for({.dp = 3, .ep = 3}, 100));
  });
  testing::expect_error(ErrorCode::kFewerSamplesThanRanks, "", [&] {
    (void)plan_of(window, options_for({.dp = 16, .ep = 2}, 100));
  });
}

// What is tuned is what runs: the defaults are the public plan, and every group has an effect.
TEST_F(MakePlan, ATuningChangesTheSearchAndNotThePublicPlan) {
  testing::Draws draws{10};
  const WindowSlice window =
      testing::make_window({.num_samples = 50, .num_layers = 7, .num_experts = 16}, draws);
  PlanOptions options = options_for({.dp = 4, .ep = 4, .tp = 2}, 150);
  const WindowSlice slice = slice_of(window, world_);
  const Plan expected = plan_of(window, options);
  EXPECT_EQ(make_plan(slice, options, PlanRun{}, MPI_COMM_WORLD).digest, expected.digest);
  const auto differs = [&](auto change) {
    PlanRun run;
    change(run.tuning);
    const Plan tuned = make_plan(slice, options, run, MPI_COMM_WORLD);
    check_plan(tuned, packing::pad_lengths(window.lengths, 1, 150), domain::cell_rules(options, 2));
    return tuned.layout != expected.layout || tuned.placement != expected.placement;
  };
  EXPECT_TRUE(differs([](domain::Tuning& t) { t.search.num_explorations = 1; }));
  EXPECT_TRUE(differs([](domain::Tuning& t) { t.search.turns = {{{1.0, 0.3, 32}}}; }));
  EXPECT_TRUE(differs([](domain::Tuning& t) { t.temperatures.min_first = 0.8; }));
  EXPECT_TRUE(differs([](domain::Tuning& t) { t.placing.chain_moves_per_swap = 80; }));
  EXPECT_TRUE(differs([](domain::Tuning& t) { t.moves.near_reach = 2; }));
  EXPECT_TRUE(differs([](domain::Tuning& t) { t.population.resample = false; }));
  EXPECT_FALSE(differs([](domain::Tuning& t) { t.effort.min_sweeps = 1; }));  // sweeps are given
  EXPECT_FALSE(differs([](domain::Tuning& t) { t.front.share = 0.5; }));  // no current placement
  options.current_placement = expected.placement;
  EXPECT_EQ(plan_of(window, options).migration_front.size(), 7U);
}

TEST_F(MakePlan, ATinyWindowIsSearchedWhereEnumerationIsOff) {
  testing::Draws draws{11};
  const WindowSlice window = testing::make_window({.num_samples = 8, .num_layers = 1}, draws);
  const PlanOptions options = options_for({.dp = 2, .ep = 2}, 200);
  PlanRun run;
  run.tuning.enumeration.max_samples = 0;
  const Plan searched = make_plan(slice_of(window, world_), options, run, MPI_COMM_WORLD);
  const Plan enumerated = plan_of(window, options);
  EXPECT_EQ(enumerated.search.num_sweeps, 40);
  EXPECT_EQ(enumerated.ended, SearchEnd::kProved);
  EXPECT_LE(enumerated.objective.max_shard, searched.objective.max_shard * (1.0 + 1e-9));
  EXPECT_GE(enumerated.lower_bound.max_shard, searched.lower_bound.max_shard * (1.0 - 1e-9));
}

TEST_F(MakePlan, ATimeLimitIsRecorded) {
  testing::Draws draws{6};
  const WindowSlice window = testing::make_window({.num_samples = 30}, draws);
  PlanOptions options = options_for({.dp = 4, .ep = 2}, 200);
  options.search = {.time_limit_seconds = 2.0};
  const Plan plan = plan_of(window, options);
  EXPECT_TRUE(plan.time_limited());
  EXPECT_GT(plan.search.num_sweeps, 0);
  check_plan(plan, packing::pad_lengths(window.lengths, 1, 200), domain::cell_rules(options, 2));
}

TEST(DealBlocks, NeverRaisesTheLargestShardAndKeepsEveryBlock) {
  for (std::uint32_t key = 0; key < 20; ++key) {
    SCOPED_TRACE(key);
    const Topology topology{.dp = 8, .ep = 2};
    testing::SearchInstance instance = testing::make_instance({.num_samples = 96}, key);
    instance.layout = testing::make_instance({.num_samples = 96, .topology = topology}, key).layout;
    instance.cost.capacity_tokens = 10'000;
    testing::connect(instance, topology);
    const objective::SearchState before(instance.problem, instance.layout, SimdLevel::kPortable);
    const CellLayout dealt = deal_blocks(instance.problem, instance.layout);
    const objective::SearchState after(instance.problem, dealt, SimdLevel::kPortable);
    EXPECT_LE(after.score().max_shard, before.score().max_shard);
    EXPECT_EQ(after.score().sum_shards, before.score().sum_shards);
    EXPECT_EQ(deal_blocks(instance.problem, dealt), dealt);  // canonical
  }
}

}  // namespace
}  // namespace routepack::planner
