// Plans with a current placement: limits and prices on moving, and the front.
#include <gtest/gtest.h>

#include "placement/moving/choose_migrations.hpp"
#include "planner/migration.hpp"
#include "routepack/planner.hpp"
#include "support/expect_error.hpp"
#include "support/plan_problem.hpp"

namespace routepack::planner {
namespace {

using testing::options_for;
using testing::slice_of;

constexpr int kLayers = 6;
constexpr int kExperts = 16;

class MigrationPlan : public ::testing::Test {
 protected:
  MigrationPlan() {
    testing::Draws draws{21};
    window_ = testing::make_window(
        {.num_samples = 48, .num_layers = kLayers, .num_experts = kExperts}, draws
    );
    options_ = options_for({.dp = 4, .ep = 4, .tp = 2}, 200);
    options_.current_placement = identity_placement(kLayers, kExperts, 4);
  }
  Plan plan() { return make_plan(slice_of(window_, world_), options_, MPI_COMM_WORLD); }
  comm::Communicator world_{MPI_COMM_WORLD};
  comm::Communicator alone_{MPI_COMM_SELF};
  WindowSlice window_;
  PlanOptions options_;
};

TEST_F(MigrationPlan, TheFrontNeverRisesAndEndsAtThePlan) {
  const Plan free = plan();
  ASSERT_EQ(free.migration_front.size(), placement::kFrontFractions.size());
  double before = 1e300;
  for (std::size_t n = 0; n < free.migration_front.size(); ++n) {
    const MigrationPoint& point = free.migration_front[n];
    EXPECT_EQ(point.max_moved_fraction, placement::kFrontFractions[n]);
    EXPECT_LE(
        static_cast<double>(point.moved_experts),
        placement::kFrontFractions[n] * kLayers * kExperts + 1e-9
    );
    EXPECT_LE(point.max_shard, before);
    before = point.max_shard;
  }
  EXPECT_NEAR(free.migration_front.back().max_shard, free.objective.max_shard, 1e-6 * before);
  EXPECT_LT(free.objective.max_shard, free.migration_front.front().max_shard);
  EXPECT_EQ(free.moved_experts, count_moved_experts(*options_.current_placement, free.placement));
}

class LimitedPlan : public MigrationPlan, public ::testing::WithParamInterface<int> {};

TEST_P(LimitedPlan, KeepsTheLimitAndIsNeverWorseThanStaying) {
  const double fraction = GetParam() / 100.0;
  options_.migration.max_moved_fraction = fraction;
  const Plan limited = plan();
  EXPECT_LE(static_cast<double>(limited.moved_experts), fraction * kLayers * kExperts + 1e-9);
  EXPECT_LE(limited.objective.max_shard, limited.migration_front.front().max_shard * (1.0 + 1e-9));
  EXPECT_EQ(limited.digest, make_plan(window_, options_, alone_.get()).digest);
}

INSTANTIATE_TEST_SUITE_P(
    Percent, LimitedPlan, ::testing::Values(0, 5, 25), ::testing::PrintToStringParamName()
);

TEST_F(MigrationPlan, APriceAboveAnyGainKeepsThePlacement) {
  options_.migration.cost_per_expert = 1e6;
  EXPECT_EQ(plan().placement, *options_.current_placement);
  options_.migration.cost_per_expert = 1e-3;
  options_.migration.horizon_steps = 1000;  // a millionth of a cost unit a step
  const Plan cheap = plan();
  EXPECT_GT(cheap.moved_experts, 0);
  EXPECT_LT(cheap.objective.max_shard, cheap.migration_front.front().max_shard);
}

// The plan that comes out, not the last point of the front, says why the search ended.
TEST_F(MigrationPlan, ASearchEndsByItsGapWhereThePlanIsWithinIt) {
  int num_within = 0;
  for (const double gap : {0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.08}) {
    for (const double fraction : {0.05, 0.25, 1.0}) {
      options_.search.target_gap = gap;
      options_.migration.max_moved_fraction = fraction;
      const Plan got = plan();
      EXPECT_EQ(got.ended == SearchEnd::kBudget, got.gap() > gap) << gap << ", " << fraction;
      num_within += got.gap() <= gap ? 1 : 0;
    }
  }
  EXPECT_GT(num_within, 0);
  EXPECT_LT(num_within, 24);
}

TEST_F(MigrationPlan, ALimitWithoutACurrentPlacementIsRefused) {
  options_.current_placement.reset();
  options_.migration.max_moved_fraction = 0.1;
  testing::expect_error(ErrorCode::kUsage, "current placement", [&] { (void)plan(); });
}

// A pair less at one peak lowers max_shard by expert_weight / (capacity * edp).
TEST(MigrationTerms, ThePriceIsInPairs) {
  PlanOptions options = options_for({.dp = 8, .ep = 4}, 100);  // two shards
  options.cost.expert_weight = 0.5;
  options.migration.cost_per_expert = 3.0;
  options.migration.horizon_steps = 6;
  WindowShape window;
  window.moe_layers = {0, 1};
  window.num_experts = 8;
  const MigrationTerms terms = migration_terms(options, window);
  EXPECT_DOUBLE_EQ(terms.price_pairs, 0.5 * 100 * 2 / 0.5);
  EXPECT_EQ(terms.max_moved, 16);
  EXPECT_FALSE(terms.is_free);
}

}  // namespace
}  // namespace routepack::planner
