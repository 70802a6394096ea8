#include "planner/layout_migration.hpp"

#include <gtest/gtest.h>

#include <array>

#include "support/plan_problem.hpp"

namespace routepack {
namespace {

constexpr int kLayers = 5;
constexpr int kExperts = 16;
constexpr int kRanks = 4;

class LayoutMigrations : public ::testing::Test {
 protected:
  LayoutMigrations() {
    testing::Draws draws{31};
    window_ = testing::make_window(
        {.num_samples = 24, .num_layers = kLayers, .num_experts = kExperts}, draws
    );
    options_ = testing::options_for({.dp = 4, .ep = kRanks}, 400);
    options_.current_placement = identity_placement(kLayers, kExperts, kRanks);
    layout_ = {3, 4, {}};
    for (int sample = 0; sample < 24; ++sample) {
      layout_.cell_of_sample.push_back(CellId{sample % layout_.num_cells()});
    }
  }
  [[nodiscard]] std::vector<MigrationChoice> choose(int num_threads, const Communicator& comm)
      const {
    const WindowSlice slice = testing::slice_of(window_, comm);
    LayoutMigration migration(slice, layout_, options_, num_threads, comm);
    migration.trace();
    const auto first = migration.choose(kBudgets);
    migration.search_near(first[2].placement, migration.price_at(kBudgets[2]), 0);
    return migration.choose(kBudgets);
  }
  static constexpr std::array<std::int64_t, 4> kBudgets = {0, 4, 8, 80};
  Communicator world_{MPI_COMM_WORLD};
  Communicator alone_{MPI_COMM_SELF};
  WindowSlice window_;
  CellLayout layout_;
  PlanOptions options_;
};

TEST_F(LayoutMigrations, AreTheSameForAnyRanksAndThreads) {
  const std::vector<MigrationChoice> together = choose(1, world_);
  const std::vector<MigrationChoice> alone = choose(2, alone_);
  ASSERT_EQ(together.size(), alone.size());
  for (std::size_t n = 0; n < alone.size(); ++n) {
    EXPECT_EQ(together[n].placement, alone[n].placement);
    EXPECT_EQ(together[n].objective, alone[n].objective);
    EXPECT_LE(together[n].moved_experts, kBudgets[n]);
  }
}

TEST_F(LayoutMigrations, CanOnlyStayBeforeTheyLookForMore) {
  const WindowSlice slice = testing::slice_of(window_, world_);
  const LayoutMigration migration(slice, layout_, options_, 1, world_);
  for (const MigrationChoice& choice : migration.choose(kBudgets)) {
    EXPECT_EQ(choice.placement, *options_.current_placement);
    EXPECT_EQ(choice.moved_experts, 0);
  }
}

TEST_F(LayoutMigrations, ASearchNearAPlacementIsNeverWorse) {
  const WindowSlice slice = testing::slice_of(window_, world_);
  LayoutMigration traced(slice, layout_, options_, 1, world_);
  traced.trace();
  const std::vector<MigrationChoice> before = traced.choose(kBudgets);
  for (std::size_t n = 0; n < before.size(); ++n) {
    LayoutMigration near(slice, layout_, options_, 1, world_);
    near.search_near(before[n].placement, traced.price_at(before[n].moved_experts), 1);
    const MigrationChoice after = near.choose(std::array{kBudgets[n]}).front();
    EXPECT_LE(after.objective, before[n].objective);
    EXPECT_LE(after.moved_experts, kBudgets[n]);
  }
  EXPECT_GE(traced.price_at(0), traced.price_at(40));
}

}  // namespace
}  // namespace routepack
