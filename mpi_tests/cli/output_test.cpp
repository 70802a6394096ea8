#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>

#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "support/test_plan.hpp"

namespace routepack::cli {
namespace {

TEST(PlanTable, ShowsThreePoliciesAndWhatIsProven) {
  const std::string expected =
      "tiny: 3 samples, 21 tokens (3 unrouted), 2 MoE layers of 4 experts, top 2\n"
      "                           baseline      reorder    routepack  vs baseline   vs reorder\n"
      "max_shard                    0.6000       0.4000       0.3000     -50.00 %     -25.00 %\n"
      "sum_shards                   3.0000       2.5000       2.0000     -33.33 %     -20.00 %\n"
      "max_row                      0.5000       0.4000       0.3333     -33.33 %     -16.67 %\n"
      "rows                              3            2            2     -33.33 %      +0.00 %\n"
      "attention                    1.0000       1.0000       1.0000      +0.00 %      +0.00 %\n"
      "ep_peak_sum                  2.0000       1.5000       1.0000     -50.00 %     -33.33 %\n"
      "tail_peak                    0.7500       0.5000       0.2500     -66.67 %     -50.00 %\n"
      "ep_balance_efficiency        0.5000       0.8000       1.0000    +100.00 %     +25.00 %\n"
      "cv_global                    0.4000       0.0000       0.0000    -100.00 %            -\n"
      "rows: 2, certified: fewer are impossible (bound 'sum')\n"
      "lower bound of max_shard 0.2500 (bound 'mean_load'): the plan is 20.000 % above it\n"
      "mean load 0.2000 (if experts could be in several places): the plan is 50.000 % above it\n"
      "12.5 % of the experts' time is lost because an expert cannot be in two places\n"
      "the search ended: the plan is within the gap that was asked for\n"
      "experts to move: 2 of 8, 4.000 GB\n";
  EXPECT_EQ(plan_table(testing::make_test_plan()), expected);
}

TEST(PlanTable, SaysWhatIsNotProvenAndTheMigrationFront) {
  Plan plan = testing::make_test_plan();
  plan.rows = {4, 2, RowStatus::kBestKnown, CellBound{}};
  plan.rows.bound.kind = "l2";
  plan.moved_bytes = {};
  plan.migration_front = {{0.05, 1, 0.5}};
  plan.ended = SearchEnd::kBudget;
  plan.lower_bound.hot_expert_loss = 0.0;
  plan.constraints = {SamplesPerSlot::kEqual, Oversize::kOwnRow,         14, 128,
                      PadRoutes::kSpread,     PlacementChoice::kIdentity};
  plan.oversized = {SampleId{2}};
  const std::string table = plan_table(plan);
  for (const char* line :
       {"constraints: equal numbers of samples a DP slot, at most 14 samples a cell, cells filled "
        "up "
        "to multiples of 128, the fill routed, the identity placement stays\n",
        "over the capacity, each alone in its cell: 1 of the samples, the first is sample 2\n",
        "the search ended: its 50 sweeps are done\n"}) {
    EXPECT_NE(table.find(line), std::string::npos) << line << table;
  }
  EXPECT_EQ(table.find("is lost because"), std::string::npos);
  EXPECT_NE(
      table.find("rows: 4, best known: at least 2 are needed (bound 'l2')\n"), std::string::npos
  );
  EXPECT_NE(
      table.find(
          "experts to move: 2 of 8\n  at most   5.0 % may move:       1 do, max_shard 0.5000\n"
      ),
      std::string::npos
  ) << table;
}

std::string printed(ProgressStyle style, int updates) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  {
    ProgressPrinter printer(style, file.get());
    for (int stage = 1; stage <= updates; ++stage) {
      printer.show({"anneal", stage, 30, 0.5, 12.25, 0.0125, 1.5e6, 2.0});
    }
  }
  std::string text(static_cast<std::size_t>(std::ftell(file.get())), '\0');
  std::rewind(file.get());
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file.get()), text.size());
  return text;
}

TEST(Progress, PrintsPlainLinesOrRewritesOne) {
  const std::string first =
      "anneal stage=1/30 temperature=0.5 best=12.2500 gap=1.250% moves_per_second=1.5e+06 "
      "seconds=2.0";
  EXPECT_EQ(printed(ProgressStyle::kNone, 3), "");
  const std::string lines = printed(ProgressStyle::kPlainLines, 2);
  EXPECT_EQ(lines.substr(0, lines.find('\n')), "routepack: " + first);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
  // The second update follows within the tenth of a second that a terminal gets.
  EXPECT_EQ(printed(ProgressStyle::kRewrittenLine, 2), "\r" + first + "\x1b[K\n");
  EXPECT_EQ(printed(ProgressStyle::kRewrittenLine, 0), "");
}

TEST(Progress, OnlyOneRankSpeaksAndOnlyWhereItShould) {
  const auto normal = base::Verbosity::kNormal;
  EXPECT_EQ(progress_style(true, normal, false, true), ProgressStyle::kRewrittenLine);
  EXPECT_EQ(progress_style(true, normal, true, false), ProgressStyle::kPlainLines);
  EXPECT_EQ(progress_style(true, normal, false, false), ProgressStyle::kNone);
  EXPECT_EQ(progress_style(true, base::Verbosity::kQuiet, false, true), ProgressStyle::kNone);
  EXPECT_EQ(progress_style(false, normal, true, true), ProgressStyle::kNone);
}

}  // namespace
}  // namespace routepack::cli
