// Whole plans of small windows: valid, the same on any number of ranks, optimal where that is
// known.
#include <gtest/gtest.h>

#include <algorithm>

#include "comm/agreement.hpp"
#include "comm/communicator.hpp"
#include "objective/evaluate.hpp"
#include "objective/search_state.hpp"
#include "packing/lengths.hpp"
#include "planner/polish.hpp"
#include "planner/report.hpp"
#include "routepack/planner.hpp"
#include "support/expect_error.hpp"
#include "support/search_instance.hpp"
#include "support/window_slice.hpp"

namespace routepack {
namespace {

using testing::InstanceShape;
using testing::slice_of;

PlanOptions options_for(const Topology& topology, std::int64_t capacity) {
  PlanOptions options;
  options.topology = topology;
  options.cost = {capacity, {{"full", 10.0, 5.0}}, 1.0};
  options.search.num_sweeps = 40;
  options.search.num_chains = 3;
  return options;
}

class MakePlan : public ::testing::Test {
 protected:
  Plan plan_of(const WindowSlice& window, const PlanOptions& options) {
    return make_plan(slice_of(window, world_), options, MPI_COMM_WORLD);
  }
  Communicator world_{MPI_COMM_WORLD};
  Communicator alone_{MPI_COMM_SELF};
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
  EXPECT_EQ(got.lower_bound, expected.lower_bound);
  options.search.num_threads = 2;
  EXPECT_EQ(plan_of(window, options).digest, expected.digest);
  options.search.seed = 2;
  EXPECT_NE(plan_of(window, options).layout, expected.layout);
}

TEST_F(MakePlan, IsNeverWorseThanReorderAndReportsItsFigures) {
  testing::Draws draws{2};
  for (int trial = 0; trial < 6; ++trial) {
    const Topology topology =
        trial % 2 == 0 ? Topology{.dp = 4, .ep = 2} : Topology{.dp = 2, .ep = 2};
    const InstanceShape shape{.num_samples = 30 + 5 * trial, .num_layers = 3, .num_experts = 8};
    const WindowSlice window = testing::make_window(shape, draws);
    const PlanOptions options = options_for(topology, 200);
    const Plan plan = plan_of(window, options);
    check_plan(plan, pad_lengths(window.lengths, 1, 200));
    if (plan.reorder.rows == plan.routepack.rows) {
      EXPECT_LE(plan.objective, plan.reorder.score);
    }
    EXPECT_GE(plan.gap(), -1e-12);
    EXPECT_LT(plan.gap(), 0.5);
    EXPECT_FALSE(plan.time_limited);
    EXPECT_EQ(plan.search.num_sweeps, 40);
    EXPECT_EQ(plan.window.num_samples, shape.num_samples);
  }
}

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

// Every layout of a dense window of six samples, against the search.
TEST_F(MakePlan, FindsTheOptimumOfTinyDenseWindows) {
  testing::Draws draws{4};
  for (int trial = 0; trial < 10; ++trial) {
    WindowSlice window;
    window.shape.num_samples = 6;
    for (int sample = 0; sample < 6; ++sample) {
      window.lengths.push_back(1 + draws.below(50));
    }
    PlanOptions options = options_for({.dp = 2, .ep = 1}, 100);
    const Plan plan = plan_of(window, options);
    const PaddedLengths padded = pad_lengths(window.lengths, 1, 100);
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
            best, compute_metrics(sum_cells(layout, padded), {}, 0, options.topology, options.cost)
                      .score.max_shard
        );
      }
    }
    EXPECT_NEAR(plan.objective.max_shard, best, 1e-9 * best) << "trial " << trial;
  }
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

TEST_F(MakePlan, ATimeLimitIsRecorded) {
  testing::Draws draws{6};
  const WindowSlice window = testing::make_window({.num_samples = 30}, draws);
  PlanOptions options = options_for({.dp = 4, .ep = 2}, 200);
  options.search = {.time_limit_seconds = 0.3};
  const Plan plan = plan_of(window, options);
  EXPECT_TRUE(plan.time_limited);
  EXPECT_GT(plan.search.num_sweeps, 0);
  check_plan(plan, pad_lengths(window.lengths, 1, 200));
}

TEST(DealBlocks, NeverRaisesTheLargestShardAndKeepsEveryBlock) {
  for (std::uint32_t key = 0; key < 20; ++key) {
    const Topology topology{.dp = 8, .ep = 2};
    testing::SearchInstance instance = testing::make_instance({.num_samples = 96}, key);
    instance.layout = testing::make_instance({.num_samples = 96, .topology = topology}, key).layout;
    instance.cost.capacity_tokens = 10'000;
    testing::connect(instance, topology);
    const SearchState before(instance.problem, instance.layout, SimdLevel::kPortable);
    const CellLayout dealt = deal_blocks(instance.problem, instance.layout);
    const SearchState after(instance.problem, dealt, SimdLevel::kPortable);
    EXPECT_LE(after.score().max_shard, before.score().max_shard);
    EXPECT_EQ(after.score().sum_shards, before.score().sum_shards);
    EXPECT_EQ(deal_blocks(instance.problem, dealt), dealt);  // canonical
  }
}

}  // namespace
}  // namespace routepack
