#include "planner/migration.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "placement/brute_force.hpp"
#include "support/plan_problem.hpp"

namespace routepack::planner {
namespace {

const domain::Tuning kTuning;

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
  [[nodiscard]] std::vector<placement::MigrationChoice> choose(
      int num_threads, const comm::Communicator& comm
  ) const {
    const WindowSlice slice = testing::slice_of(window_, comm);
    LayoutMigration migration(slice, layout_, options_, kTuning, num_threads, comm);
    migration.trace();
    const auto first = migration.choose(kBudgets);
    migration.search_near(first[2].placement, migration.price_at(kBudgets[2]), 0);
    return migration.choose(kBudgets);
  }
  static constexpr std::array<std::int64_t, 4> kBudgets = {0, 4, 8, 80};
  comm::Communicator world_{MPI_COMM_WORLD};
  comm::Communicator alone_{MPI_COMM_SELF};
  WindowSlice window_;
  CellLayout layout_;
  PlanOptions options_;
};

TEST_F(LayoutMigrations, AreTheSameForAnyRanksAndThreads) {
  const std::vector<placement::MigrationChoice> together = choose(1, world_);
  const std::vector<placement::MigrationChoice> alone = choose(2, alone_);
  ASSERT_EQ(together.size(), alone.size());
  for (std::size_t n = 0; n < alone.size(); ++n) {
    SCOPED_TRACE(kBudgets[n]);
    EXPECT_EQ(together[n].placement, alone[n].placement);
    EXPECT_EQ(together[n].objective, alone[n].objective);
    EXPECT_LE(together[n].moved_experts, kBudgets[n]);
  }
}

TEST_F(LayoutMigrations, CanOnlyStayBeforeTheyLookForMore) {
  const WindowSlice slice = testing::slice_of(window_, world_);
  const LayoutMigration migration(slice, layout_, options_, kTuning, 1, world_);
  for (const placement::MigrationChoice& choice : migration.choose(kBudgets)) {
    EXPECT_EQ(choice.placement, *options_.current_placement);
    EXPECT_EQ(choice.moved_experts, 0);
  }
}

TEST_F(LayoutMigrations, ASearchNearAPlacementIsNeverWorse) {
  const WindowSlice slice = testing::slice_of(window_, world_);
  LayoutMigration traced(slice, layout_, options_, kTuning, 1, world_);
  traced.trace();
  const std::vector<placement::MigrationChoice> before = traced.choose(kBudgets);
  for (std::size_t n = 0; n < before.size(); ++n) {
    SCOPED_TRACE(kBudgets[n]);
    LayoutMigration near(slice, layout_, options_, kTuning, 1, world_);
    near.search_near(before[n].placement, traced.price_at(before[n].moved_experts), 1);
    const placement::MigrationChoice after = near.choose(std::array{kBudgets[n]}).front();
    EXPECT_LE(after.objective, before[n].objective);
    EXPECT_LE(after.moved_experts, kBudgets[n]);
  }
  EXPECT_GE(traced.price_at(0), traced.price_at(40));
}

// Σ of block peaks of one layer by experts moved from identity, the best of all placements; counted
// from the window's samples.
std::vector<std::int64_t> best_of_layer(
    const WindowSlice& window, const CellLayout& layout, int ep, std::size_t layer
) {
  const auto experts = static_cast<std::size_t>(window.shape.num_experts);
  const auto layers = static_cast<std::size_t>(window.shape.num_moe_layers());
  std::vector<std::int64_t> best(experts + 1, std::numeric_limits<std::int64_t>::max() / 4);
  const placement::RankOfExpert home = placement::ranks_of(
      identity_placement(1, static_cast<int>(experts), ep).layers[MoeLayer{0}], ep
  );
  const std::vector<std::int64_t> unused(experts, 0);
  testing::for_each_placement(
      unused, ep, true,
      [&](const placement::RankOfExpert& rank_of, std::int64_t) {
        std::int64_t sum = 0;
        for (int row = 0; row < layout.num_rows; ++row) {
          std::vector<std::int64_t> load(static_cast<std::size_t>(ep), 0);
          for (const SampleId sample : ids<SampleId>(window.lengths.size())) {
            if (layout.row_of(layout.cell_of_sample[sample]) == RowId{row}) {
              for (std::size_t expert = 0; expert < experts; ++expert) {
                load[rank_of[ExpertId{expert}].offset()] +=
                    window.demand[(sample.offset() * layers + layer) * experts + expert];
              }
            }
          }
          sum += *std::max_element(load.begin(), load.end());
        }
        std::int64_t& entry = best[static_cast<std::size_t>(placement::count_moved(home, rank_of))];
        entry = std::min(entry, sum);
      }
  );
  return best;
}

// The same of all layers together.
std::vector<std::int64_t> best_of_window(
    const WindowSlice& window, const CellLayout& layout, int ep
) {
  std::vector<std::int64_t> best = {0};
  for (std::size_t layer = 0; layer < window.shape.moe_layers.size(); ++layer) {
    const std::vector<std::int64_t> more = best_of_layer(window, layout, ep, layer);
    std::vector<std::int64_t> sums(
        best.size() + more.size() - 1, std::numeric_limits<std::int64_t>::max() / 2
    );
    for (std::size_t x = 0; x < best.size(); ++x) {
      for (std::size_t y = 0; y < more.size(); ++y) {
        sums[x + y] = std::min(sums[x + y], best[x] + more[y]);
      }
    }
    best = std::move(sums);
  }
  return best;
}

TEST(LayoutMigrationOracle, IsNearlyAlwaysTheBestOfAllPlacementsWithinABudget) {
  const comm::Communicator world{MPI_COMM_WORLD};
  constexpr int kFewLayers = 3;
  constexpr int kFewExperts = 8;
  int found = 0;
  int tried = 0;
  for (std::uint32_t seed = 0; seed < 6; ++seed) {
    testing::Draws draws{100 + seed};
    const WindowSlice window = testing::make_window(
        {.num_samples = 12, .num_layers = kFewLayers, .num_experts = kFewExperts}, draws
    );
    PlanOptions options = testing::options_for({.dp = kRanks, .ep = kRanks}, 400);
    options.current_placement = identity_placement(kFewLayers, kFewExperts, kRanks);
    CellLayout layout{2, kRanks, {}};
    for (int sample = 0; sample < 12; ++sample) {
      layout.cell_of_sample.push_back(CellId{sample % layout.num_cells()});
    }
    const WindowSlice slice = testing::slice_of(window, world);
    const std::vector<std::int64_t> best = best_of_window(window, layout, kRanks);
    for (const std::int64_t budget : {0, 2, 3, 4, 6, 9, 24}) {
      LayoutMigration migration(slice, layout, options, kTuning, 1, world);
      migration.trace();
      const std::array budgets = {budget};
      migration.search_near(
          migration.choose(budgets).front().placement, migration.price_at(budget), seed
      );
      const std::int64_t sum = migration.choose(budgets).front().objective;
      const std::int64_t optimum =
          *std::min_element(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(budget) + 1);
      EXPECT_GE(sum, optimum) << "seed " << seed << ", budget " << budget;
      found += sum == optimum ? 1 : 0;
      ++tried;
    }
  }
  EXPECT_GE(10 * found, 9 * tried) << found << " of " << tried;
}

}  // namespace
}  // namespace routepack::planner
