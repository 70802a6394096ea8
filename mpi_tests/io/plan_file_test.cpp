#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "io/plan_file.hpp"
#include "support/expect_error.hpp"
#include "support/temp_folder.hpp"
#include "support/test_plan.hpp"

namespace routepack::io {
namespace {

using testing::expect_error;
using testing::make_test_plan;
using testing::TempFolder;
using testing::write_file;

TEST(PlanWriter, WritesEveryKeyInOrder) {
  const std::string expected = R"({
  "format": "routepack-plan/1",
  "window": {"samples":3,"moe_layers":2,"experts":4,"top_k":2,"tokens":21,"unrouted_tokens":3},
  "topology": {"dp":1,"ep":2,"tp":2,"cp":1,"pp":3,"etp":1,"edp":1,"dp_per_shard":1},
  "capacity_tokens": 16,
  "row_multiple": 2,
  "pad_multiple": 4,
  "seed": 18446744073709551615,
  "constraints": {"samples_per_slot":"any","oversize":"error","max_samples_per_cell":null,"cell_pad_multiple":1,"pad_routes":"none","placement":"free"},
  "oversized": [],
  "search": {"seed":18446744073709551615,"chains":8,"sweeps":50,"time_limited":false,"ended":"gap"},
  "rows": {"count":2,"status":"certified","lower_bound":2,"proof":{"kind":"sum","cells":2}},
  "placement": [
    [0,1,2,3],
    [3,1,2,0]
  ],
  "cells": [
    [[1]],
    [[0,2]]
  ],
  "cost": {"capacity":16,"stages":[{"name":"full","alpha":100.0,"beta":0.1},{"name":"linear","alpha":1e-300,"beta":0.0}],"expert_weight":1.0},
  "objective": {"max_shard":0.30000000000000004,"sum_shards":2.0,"max_row":0.3333333333333333},
  "lower_bound": {"max_shard":0.25,"gap":0.20000000000000018,"kind":"mean_load","balanced":0.2,"gap_to_balanced":0.5000000000000002,"hot_expert_loss":0.125},
  "policies": {
    "baseline": {"max_shard":0.6,"sum_shards":3.0,"max_row":0.5,"rows":3,"attention":1.0,"ep_peak_sum":2.0,"tail_peak":0.75,"ep_balance_efficiency":0.5,"cv_global":0.4},
    "reorder": {"max_shard":0.4,"sum_shards":2.5,"max_row":0.4,"rows":2,"attention":1.0,"ep_peak_sum":1.5,"tail_peak":0.5,"ep_balance_efficiency":0.8,"cv_global":0.0},
    "routepack": {"max_shard":0.30000000000000004,"sum_shards":2.0,"max_row":0.3333333333333333,"rows":2,"attention":1.0,"ep_peak_sum":1.0,"tail_peak":0.25,"ep_balance_efficiency":1.0,"cv_global":0.0}
  },
  "migration": {"moved_experts":2,"moved_bytes":4000000000},
  "digest": "0123456789abcdef0123456789abcdef"
}
)";
  EXPECT_EQ(plan_text(make_test_plan()), expected);
}

// What the plan's text has after `key`, up to the end of the line.
std::string line_of(const Plan& plan, const std::string& key) {
  const std::string text = plan_text(plan);
  const std::size_t at = text.find(key);
  EXPECT_NE(at, std::string::npos) << key;
  return text.substr(at + key.size(), text.find('\n', at) - at - key.size());
}

TEST(PlanWriter, FiguresReadBackToTheSameBits) {
  Plan plan = make_test_plan();
  double value = 1.0;
  for (int step = 0; step < 2000; ++step) {
    value = value * 1.7320508075688772 + 1e-3;
    value = value > 1e280 ? value * 1e-280 * 1e-280 : value;
    plan.objective.sum_shards = value;
    const std::string line = line_of(plan, "\"objective\": ");
    const std::string key = "\"sum_shards\":";
    ASSERT_EQ(std::strtod(line.c_str() + line.find(key) + key.size(), nullptr), value) << line;
  }
}

TEST(PlanWriter, WritesTheParametersOfAProofAndTheMigrationFront) {
  Plan plan = make_test_plan();
  plan.rows.status = RowStatus::kBestKnown;
  plan.rows.bound = {"u_l2", 3, 5, 7};
  plan.migration_front = {{0.0, 0, 0.5}, {0.1, 12, 0.25}};
  plan.search.time_limit_seconds = 2.0;
  plan.ended = SearchEnd::kTime;
  plan.moved_bytes = {};
  plan.constraints = {SamplesPerSlot::kEqual, Oversize::kOwnRow,        14, 8,
                      PadRoutes::kSpread,     PlacementChoice::kCurrent};
  plan.oversized = {SampleId{1}, SampleId{2}};
  EXPECT_EQ(
      line_of(plan, "\"rows\": "),
      R"({"count":2,"status":"best_known","lower_bound":2,"proof":{"kind":"u_l2","cells":3,)"
      R"("lambda":5,"parts":7}},)"
  );
  EXPECT_EQ(
      line_of(plan, "\"migration\": "),
      R"({"moved_experts":2,"moved_bytes":null,"front":[)"
      R"({"max_moved_fraction":0.0,"moved_experts":0,"max_shard":0.5},)"
      R"({"max_moved_fraction":0.1,"moved_experts":12,"max_shard":0.25}]},)"
  );
  EXPECT_NE(
      line_of(plan, "\"search\": ").find(R"("time_limited":true,"ended":"time")"), std::string::npos
  );
  EXPECT_EQ(
      line_of(plan, "\"constraints\": "),
      R"({"samples_per_slot":"equal","oversize":"own_row","max_samples_per_cell":14,)"
      R"("cell_pad_multiple":8,"pad_routes":"spread","placement":"current"},)"
  );
  EXPECT_EQ(line_of(plan, "\"oversized\": "), "[1,2],");
}

TEST(PlanWriter, ADenseModelHasAnEmptyPlacement) {
  Plan plan = make_test_plan();
  plan.window.moe_layers.clear();
  plan.placement = identity_placement(0, 0, 2);
  EXPECT_EQ(line_of(plan, "\"placement\": "), "[],");
}

TEST(PlanWriter, EscapesNames) {
  Plan plan = make_test_plan();
  plan.cost.stages[0].name = "a\"b\xff";  // a quote, and a byte that is no UTF-8
  EXPECT_NE(line_of(plan, "\"cost\": ").find("\"name\":\"a\\\"b\xef\xbf\xbd\""), std::string::npos)
      << line_of(plan, "\"cost\": ");
}

TEST(PlanWriter, LeavesNoFileForAFigureThatIsNotFinite) {
  const TempFolder folder;
  Plan plan = make_test_plan();
  plan.reorder.attention = std::numeric_limits<double>::infinity();
  expect_error(ErrorCode::kNumberOutOfRange, "attention is inf", [&] {
    write_plan(folder.file("plan.json"), plan);
  });
  EXPECT_EQ(folder.num_entries(), 0U);
}

TEST(PlanReader, ReadsWhatTheWriterWrote) {
  const TempFolder folder;
  const Plan plan = make_test_plan();
  write_plan(folder.file("plan.json"), plan);
  const PlanFile file = read_plan(folder.file("plan.json"));
  EXPECT_EQ(file.topology, plan.topology);
  EXPECT_EQ(file.capacity_tokens, 16);
  EXPECT_EQ(file.row_multiple, 2);
  EXPECT_EQ(file.pad_multiple, 4);
  EXPECT_EQ(file.placement, plan.placement);
  EXPECT_EQ(file.layout, plan.layout);
  EXPECT_EQ(file.digest, plan.digest);
  EXPECT_EQ(read_placement(folder.file("plan.json"), 2), plan.placement);
}

TEST(PlanReader, RefusesWhatIsNoPlan) {
  const std::string good = plan_text(make_test_plan());
  const auto expect = [&](const std::string& from, const std::string& to, ErrorCode code,
                          const std::string& text) {
    const TempFolder folder;
    std::string changed = good;
    const std::size_t at = changed.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write_file(folder.file("plan.json"), changed.replace(at, from.size(), to));
    expect_error(code, text, [&] { (void)read_plan(folder.file("plan.json")); });
  };
  const auto malformed = ErrorCode::kFileMalformed;
  expect("plan/1", "plan/9", malformed, "'format' is 'routepack-plan/9'");
  expect("[[0,2]]", "[[0,1]]", malformed, "names sample 1 twice");
  expect("[[0,2]]", "[[0]]", malformed, "sample 2 of 3 is in none");
  expect("[[0,2]]", "[[0],[2]]", malformed, "row 1 of 'cells' has 2 cells, 'dp' is 1");
  expect("[[0,2]]", "[[0,3]]", ErrorCode::kNumberOutOfRange, "'cells'[1][0][1] is 3");
  expect("[[0,2]]", "[[0,2.5]]", malformed, "expected an integer");
  expect("[3,1,2,0]", "[3,1,2,2]", malformed, "layer 1 of the placement is no permutation");
  expect("[3,1,2,0]", "[3,1,2]", malformed, "layer 1 of the placement has 3 experts");
  expect("\"dp\":1", "\"dp\":0", ErrorCode::kNumberOutOfRange, "'dp' is 0");
  expect("\"digest\"", "\"other\"", malformed, "no key 'digest'");
}

TEST(PlacementReader, ReadsAPlacementFile) {
  const TempFolder folder;
  const std::string path = folder.file("p.json");
  write_file(path, R"({"placement": [[1, 0, 3, 2]], "peak": [5]})");
  const Placement placement = read_placement(path, 2);
  EXPECT_EQ(placement.num_experts, 4);
  EXPECT_EQ(placement.layers[MoeLayer{0}][ExpertId{2}], SlotId{3});
  expect_error(ErrorCode::kExpertsNotDivisible, "4 experts", [&] {
    (void)read_placement(path, 3);
  });
  write_file(path, R"({"placement": []})");
  EXPECT_TRUE(read_placement(path, 2).layers.empty());
  write_file(path, R"({"placement": [0, 1]})");
  expect_error(ErrorCode::kFileMalformed, "'placement'[0] is number", [&] {
    (void)read_placement(path, 1);
  });
  write_file(path, plan_text(make_test_plan()));
  expect_error(ErrorCode::kUsage, "is a plan for ep = 2, here ep is 4", [&] {
    (void)read_placement(path, 4);
  });
}

}  // namespace
}  // namespace routepack::io
