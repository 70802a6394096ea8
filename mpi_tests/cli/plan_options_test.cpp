#include "cli/plan_options.hpp"

#include <gtest/gtest.h>

#include "cli/option_parser.hpp"
#include "support/expect_error.hpp"
#include "support/temp_folder.hpp"

namespace routepack::cli {
namespace {

using testing::expect_error;
using testing::TempFolder;
using testing::write_file;
using Arguments = std::vector<std::string>;

PlanRequest request(Arguments more) {
  Arguments arguments = {"window", "--dp", "8", "--ep", "4", "--capacity", "2048"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  PlanRequest asked;
  OptionTable table = plan_options(asked);
  parse_options(table, arguments);
  return completed(asked);
}

void expect_refused(const Arguments& more, ErrorCode code, const std::string& text) {
  SCOPED_TRACE(::testing::PrintToString(more));
  expect_error(code, text, [&] { (void)request(more); });
}

TEST(PlanOptions, DefaultsAreThoseOfThePlanner) {
  const PlanRequest plain = request({});
  EXPECT_EQ(plain.window, "window");
  EXPECT_EQ(plain.out, "");
  EXPECT_EQ(plain.model, "");
  EXPECT_EQ(plain.common.verbosity(), base::Verbosity::kNormal);
  EXPECT_EQ(plain.options.topology, (Topology{.dp = 8, .ep = 4}));
  EXPECT_EQ(plain.options.cost.capacity_tokens, 2048);
  EXPECT_EQ(plain.options.cost.stages, (std::vector<AttentionStage>{{"full", 0.0, 0.0}}));
  EXPECT_EQ(plain.options.cost.expert_weight, 1.0);
  EXPECT_EQ(plain.options.row_multiple, 1);
  EXPECT_EQ(plain.options.pad_multiple, 1);
  EXPECT_EQ(plain.options.search.seed, 1U);
  EXPECT_EQ(plain.options.search.num_chains, 0);
  EXPECT_EQ(plain.options.search.num_sweeps, 0);
  EXPECT_EQ(plain.options.search.time_limit_seconds, 0.0);
  EXPECT_EQ(plain.options.migration.max_moved_fraction, 1.0);
  EXPECT_EQ(plain.options.migration.horizon_steps, 1);
  EXPECT_FALSE(plain.options.current_placement.has_value());
}

TEST(PlanOptions, ConstraintsArrive) {
  EXPECT_EQ(request({}).options.constraints, Constraints{});
  const PlanRequest asked = request(
      {"--samples-per-slot", "equal", "--oversize", "own-row", "--max-samples-per-cell", "14",
       "--cell-pad-multiple", "128", "--pad-routes", "spread", "--placement", "identity", "--gap",
       "2.5"}
  );
  EXPECT_EQ(
      asked.options.constraints, (Constraints{
                                     SamplesPerSlot::kEqual, Oversize::kOwnRow, 14, 128,
                                     PadRoutes::kSpread, PlacementChoice::kIdentity})
  );
  EXPECT_DOUBLE_EQ(asked.options.search.target_gap, 0.025);
  EXPECT_EQ(
      request({"--placement", "current"}).options.constraints.placement, PlacementChoice::kCurrent
  );
  expect_refused({"--placement", "fixed"}, ErrorCode::kUsage, "expected free|current|identity");
  expect_refused({"--oversize", "own_row"}, ErrorCode::kUsage, "expected error|own-row");
  expect_refused({"--samples-per-slot", "same"}, ErrorCode::kUsage, "expected any|equal");
  expect_refused({"--max-samples-per-cell", "0"}, ErrorCode::kNumberOutOfRange, "is 0");
  expect_refused({"--cell-pad-multiple", "0"}, ErrorCode::kNumberOutOfRange, "is 0");
  expect_refused({"--gap", "-1"}, ErrorCode::kNumberOutOfRange, "is -1");
}

TEST(PlanOptions, EveryOptionArrives) {
  const PlanRequest full = request(
      {"--tp",
       "2",
       "--cp",
       "1",
       "--pp",
       "5",
       "--etp",
       "4",
       "--row-multiple",
       "3",
       "--pad-multiple",
       "64",
       "--alpha",
       "100",
       "--beta",
       "50.5",
       "--expert-weight",
       "0.5",
       "--seed",
       "9223372036854775807",
       "--chains",
       "32",
       "--sweeps",
       "50",
       "--threads",
       "2",
       "--migration-cost-per-expert",
       "0.25",
       "--horizon-steps",
       "10",
       "--max-moved-fraction",
       "0.1",
       "--bytes-per-expert",
       "1000",
       "-o",
       "plan.json",
       "--verbose",
       "--progress"}
  );
  EXPECT_EQ(
      full.options.topology, (Topology{.dp = 8, .ep = 4, .tp = 2, .cp = 1, .pp = 5, .etp = 4})
  );
  EXPECT_EQ(full.options.row_multiple, 3);
  EXPECT_EQ(full.options.pad_multiple, 64);
  EXPECT_EQ(full.options.cost.stages, (std::vector<AttentionStage>{{"full", 100.0, 50.5}}));
  EXPECT_EQ(full.options.cost.expert_weight, 0.5);
  EXPECT_EQ(full.options.search.seed, 9223372036854775807U);
  EXPECT_EQ(full.options.search.num_chains, 32);
  EXPECT_EQ(full.options.search.num_sweeps, 50);
  EXPECT_EQ(full.options.search.num_threads, 2);
  EXPECT_EQ(full.options.migration.cost_per_expert, 0.25);
  EXPECT_EQ(full.options.migration.horizon_steps, 10);
  EXPECT_EQ(full.options.migration.max_moved_fraction, 0.1);
  EXPECT_EQ(full.options.migration.bytes_per_expert, 1000);
  EXPECT_EQ(full.out, "plan.json");
  EXPECT_EQ(full.common.verbosity(), base::Verbosity::kVerbose);
  EXPECT_TRUE(full.common.progress);
}

TEST(PlanOptions, StagesComeOneWayOnly) {
  const PlanRequest staged = request({"--stage", "kda:3:0", "--stage", "full:1.5:2e1"});
  EXPECT_EQ(
      staged.options.cost.stages,
      (std::vector<AttentionStage>{{"kda", 3.0, 0.0}, {"full", 1.5, 20.0}})
  );
  const PlanRequest preset = request({"--model", "ling-3.0-tiny"});
  EXPECT_EQ(preset.model, "ling-3.0-tiny");
  EXPECT_TRUE(preset.options.cost.stages.empty());
  EXPECT_FALSE(preset.expert_weight.has_value());  // the model's
  EXPECT_EQ(request({"--model", "ling-3.0-tiny", "--expert-weight", "2"}).expert_weight, 2.0);
  expect_refused({"--model", "x", "--alpha", "1"}, ErrorCode::kUsage, "--alpha and --model");
  expect_refused({"--model", "x", "--beta", "1"}, ErrorCode::kUsage, "--beta and --model");
  expect_refused({"--model", "x", "--stage", "a:1:1"}, ErrorCode::kUsage, "--stage and --model");
  expect_refused({"--stage", "a:1:1", "--alpha", "1"}, ErrorCode::kUsage, "--alpha and --stage");
  for (const char* text : {"a", "a:1", ":1:1", "a:1:1:1", "a::1", "a:1:", "a:x:1", ""}) {
    expect_refused({"--stage=" + std::string(text)}, ErrorCode::kUsage, "stage");
  }
  expect_refused({"--stage", "a:-1:1"}, ErrorCode::kNumberOutOfRange, "ALPHA of --stage a");
  expect_refused({"--stage", "a:1:inf"}, ErrorCode::kNumberOutOfRange, "BETA of --stage a");
  expect_refused({"--stage", "a:1:1", "--stage", "a:2:2"}, ErrorCode::kUsage, "given twice");
}

TEST(PlanOptions, RefusesWhatIsMissingOrOutOfRange) {
  for (const char* name : {"dp", "ep", "capacity"}) {
    Arguments arguments = {"window"};
    for (const char* other : {"dp", "ep", "capacity"}) {
      if (std::string(other) != name) {
        arguments.insert(arguments.end(), {"--" + std::string(other), "4"});
      }
    }
    expect_error(ErrorCode::kUsage, "plan needs --" + std::string(name), [&] {
      PlanRequest asked;
      OptionTable table = plan_options(asked);
      parse_options(table, arguments);
    });
  }
  expect_refused({"--sweeps", "50", "--time-limit", "2"}, ErrorCode::kUsage, "time-limit");
  expect_refused({"--sweeps", "-3"}, ErrorCode::kNumberOutOfRange, "--sweeps is -3");
  expect_refused({"--sweeps", "0"}, ErrorCode::kNumberOutOfRange, "--sweeps is 0");
  expect_refused({"--chains", "0"}, ErrorCode::kNumberOutOfRange, "--chains is 0");
  expect_refused({"--time-limit", "0"}, ErrorCode::kNumberOutOfRange, "--time-limit is 0");
  expect_refused(
      {"--max-moved-fraction", "1.5"}, ErrorCode::kNumberOutOfRange, "allowed are 0 to 1"
  );
  expect_refused({"--seed", "-1"}, ErrorCode::kNumberOutOfRange, "--seed is -1");
  expect_refused({"--alpha", "-1"}, ErrorCode::kNumberOutOfRange, "--alpha is -1");
  expect_refused({"--row-multiple", "0"}, ErrorCode::kNumberOutOfRange, "--row-multiple is 0");
  expect_refused({"--tp", "3"}, ErrorCode::kTopologyMismatch, "tp*cp");
}

TEST(PlanOptions, ReadsTheCurrentPlacement) {
  const TempFolder folder;
  write_file(folder.file("p.json"), R"({"placement": [[3, 2, 1, 0]]})");
  const PlanRequest moved = request({"--current-placement", folder.file("p.json")});
  ASSERT_TRUE(moved.options.current_placement.has_value());
  EXPECT_EQ(moved.options.current_placement->ep, 4);
  EXPECT_EQ(moved.options.current_placement->ep_rank_of(MoeLayer{0}, ExpertId{0}), EpRank{3});
  expect_refused({"--current-placement", folder.file("none")}, ErrorCode::kFileMalformed, "none");
}

}  // namespace
}  // namespace routepack::cli
