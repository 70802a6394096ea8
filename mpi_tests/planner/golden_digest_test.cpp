// Plans of small windows against digests that are written down: whoever changes what the planner
// answers sees it here. The windows are drawn in integers, so that no library of mathematics has
// a say in them; the numbers of sweeps are fixed.
//
// To renew: run the test, take the digests that it got into the table below, and commit them
// alone, in a commit that says what changed the plans and what that is worth. A digest that
// changes beside other work is a fault.
#include <gtest/gtest.h>

#include <array>
#include <ostream>
#include <string>

#include "comm/communicator.hpp"
#include "routepack/planner.hpp"
#include "support/plan_problem.hpp"

namespace routepack::planner {
namespace {

enum class Current { kNone, kIdentity };

struct Case {
  const char* name;
  const char* digest;
  testing::InstanceShape window;
  Topology topology;
  std::int64_t capacity_tokens;
  Current current = Current::kNone;
  void (*set)(PlanOptions&) = [](PlanOptions&) {};
};

const testing::InstanceShape kSmall = {.num_samples = 40, .num_layers = 4, .num_experts = 16};
const testing::InstanceShape kLarge = {
    .num_samples = 96, .num_layers = 9, .num_experts = 32, .top_k = 4};
const testing::InstanceShape kDense = {.num_samples = 50, .num_layers = 0, .num_experts = 0};

const std::array kCases = {
    Case{"FreePlacement", "4a466f005b634ce58529537898624e03", kSmall, {.dp = 4, .ep = 2}, 200},
    Case{
        "FreePlacementOfManyExperts",
        "993eddff745604eb8671d00c6557bab6",
        kLarge,
        {.dp = 8, .ep = 8},
        250},
    Case{
        "OneShardOfTensorAndPipelineParallelRanks",
        "815e6efb84d86c5d2abbcd08ab257d3d",
        kSmall,
        {.dp = 4, .ep = 4, .tp = 2, .pp = 2},
        200},
    Case{"NoExperts", "7be2f2749761b11e10820dba031e3837", kDense, {.dp = 4, .ep = 1}, 200},
    Case{
        "OneChain",
        "5bcd84cbaed4cc402184b5742d47d595",
        kSmall,
        {.dp = 4, .ep = 2},
        200,
        Current::kNone,
        [](PlanOptions& o) { o.search.num_chains = 1; }},
    Case{
        "TwoChainsOfAnotherSeed",
        "5061bb4279d4cbdcc5c32d5afc14bd39",
        kSmall,
        {.dp = 4, .ep = 2},
        200,
        Current::kNone,
        [](PlanOptions& o) {
          o.search.num_chains = 2;
          o.search.seed = 4;
        }},
    Case{
        "MovesFreely",
        "799f90d757a155680de6491778ef6f39",
        kSmall,
        {.dp = 4, .ep = 4},
        200,
        Current::kIdentity},
    Case{
        "MovesFewExperts",
        "a1759e163410bd4368db9a07b266c6d5",
        kSmall,
        {.dp = 4, .ep = 4},
        200,
        Current::kIdentity,
        [](PlanOptions& o) { o.migration.max_moved_fraction = 0.2; }},
    Case{
        "PaysForMoving",
        "7f87d1509b4c8e3d59b9ea28b90eb84b",
        kLarge,
        {.dp = 8, .ep = 4},
        250,
        Current::kIdentity,
        [](PlanOptions& o) {
          o.migration.cost_per_expert = 0.01;
          o.migration.horizon_steps = 4;
        }},
    Case{
        "KeepsTheCurrentPlacement",
        "ed18ac655d2a594efebb687b100f5da9",
        kSmall,
        {.dp = 4, .ep = 4},
        200,
        Current::kIdentity,
        [](PlanOptions& o) { o.constraints.placement = PlacementChoice::kCurrent; }},
    Case{
        "EqualSlots",
        "d02dafcbd72e50a0d4a160a671f535d2",
        kSmall,
        {.dp = 4, .ep = 2},
        200,
        Current::kNone,
        [](PlanOptions& o) { o.constraints.samples_per_slot = SamplesPerSlot::kEqual; }},
    Case{
        "FewSamplesInFilledCells",
        "9cb12a73b9d6fa98f741516745549451",
        kSmall,
        {.dp = 4, .ep = 2},
        200,
        Current::kNone,
        [](PlanOptions& o) {
          o.constraints.max_samples_per_cell = 6;
          o.constraints.cell_pad_multiple = 20;
          o.constraints.pad_routes = PadRoutes::kSpread;
        }},
    Case{
        "LongSamplesInRowsOfTheirOwn",
        "92be56e6320af6fa0f5b1509810c4a98",
        kSmall,
        {.dp = 2, .ep = 2},
        55,
        Current::kNone,
        [](PlanOptions& o) { o.constraints.oversize = Oversize::kOwnRow; }},
    Case{
        "PaddedSamplesInPairsOfRows",
        "1458433e1e61e4b62ad83eb18a8cc7aa",
        kLarge,
        {.dp = 4, .ep = 4},
        256,
        Current::kNone,
        [](PlanOptions& o) {
          o.pad_multiple = 8;
          o.row_multiple = 2;
        }},
    Case{
        "AttentionStages",
        "8fb3adec773de2d2fd7ea1527d71424d",
        kSmall,
        {.dp = 4, .ep = 2},
        200,
        Current::kNone,
        [](PlanOptions& o) {
          o.cost.stages = {{"full", 12.0, 30.0}, {"window", 20.0, 2.0}, {"linear", 8.0, 0.0}};
          o.cost.expert_weight = 0.5;
        }},
    Case{
        "TinyWindowsAreEnumerated",
        "7e3143ccd5ddb088d5663ae74e9b57f2",
        {.num_samples = 6, .num_layers = 2, .num_experts = 4},
        {.dp = 2, .ep = 2},
        100},
};

void PrintTo(const Case& golden, std::ostream* out) { *out << golden.name; }

class GoldenDigest : public ::testing::TestWithParam<Case> {
 protected:
  comm::Communicator world_{MPI_COMM_WORLD};
};

TEST_P(GoldenDigest, IsThatOfBefore) {
  const Case& golden = GetParam();
  testing::Draws draws{31};
  const WindowSlice window = testing::make_window(golden.window, draws);
  PlanOptions options = testing::options_for(golden.topology, golden.capacity_tokens);
  if (golden.current == Current::kIdentity) {
    options.current_placement =
        identity_placement(golden.window.num_layers, golden.window.num_experts, golden.topology.ep);
  }
  golden.set(options);
  const Plan plan = make_plan(testing::slice_of(window, world_), options, world_.get());
  EXPECT_EQ(plan.digest, golden.digest);
}

INSTANTIATE_TEST_SUITE_P(Plans, GoldenDigest, ::testing::ValuesIn(kCases), [](const auto& golden) {
  return std::string(golden.param.name);
});

}  // namespace
}  // namespace routepack::planner
