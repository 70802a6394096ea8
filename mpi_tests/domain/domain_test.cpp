#include <gtest/gtest.h>

#include <cmath>

#include "routepack/cost.hpp"
#include "routepack/error.hpp"
#include "routepack/layout.hpp"
#include "routepack/placement.hpp"
#include "routepack/topology.hpp"

namespace routepack::domain {
namespace {

ErrorCode code_of(const auto& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return ErrorCode::kUsage;
}

TEST(Topology, GivesWholeShards) {
  const Topology one_slot{.dp = 2, .ep = 32, .tp = 8, .cp = 4};  // TP8 CP4 EP32
  validate_topology(one_slot, 256);
  EXPECT_EQ(one_slot.dp_per_shard(), 1);
  EXPECT_EQ(one_slot.edp(), 2);
  const Topology wide{.dp = 16, .ep = 8};
  EXPECT_EQ(wide.dp_per_shard(), 8);
  EXPECT_EQ(wide.shard_of(DpSlot{7}), EdpShard{0});
  EXPECT_EQ(wide.shard_of(DpSlot{8}), EdpShard{1});
}

TEST(Topology, RefusesSizesThatDoNotFit) {
  EXPECT_EQ(
      code_of([] { validate_topology({.dp = 4, .ep = 2, .tp = 4}, 8); }),
      ErrorCode::kTopologyMismatch
  );
  EXPECT_EQ(
      code_of([] { validate_topology({.dp = 12, .ep = 8}, 8); }), ErrorCode::kTopologyMismatch
  );
  EXPECT_EQ(
      code_of([] { validate_topology({.dp = 4, .ep = 4}, 10); }), ErrorCode::kExpertsNotDivisible
  );
  EXPECT_EQ(
      code_of([] { validate_topology({.dp = 0, .ep = 1}, 8); }), ErrorCode::kNumberOutOfRange
  );
  EXPECT_EQ(
      code_of([] { validate_topology({.dp = 1, .ep = 1 << 20, .etp = 1 << 20}, 0); }),
      ErrorCode::kNumberOutOfRange
  );
}

TEST(Cost, RefusesValuesThatAreNoCosts) {
  EXPECT_EQ(
      code_of([] { validate_cost({.capacity_tokens = 0, .stages = {}}); }),
      ErrorCode::kNumberOutOfRange
  );
  EXPECT_EQ(
      code_of([] {
        validate_cost({.capacity_tokens = 8, .stages = {{"full", -1.0, 0.0}}});
      }),
      ErrorCode::kNumberOutOfRange
  );
  for (const double absurd : {1e308, 1e101, 1e-101, 1e-300, HUGE_VAL, std::nan("")}) {
    EXPECT_EQ(
        code_of([&] {
          validate_cost({.capacity_tokens = 8, .stages = {{"full", absurd, 0.0}}});
        }),
        ErrorCode::kNumberOutOfRange
    );
    EXPECT_EQ(code_of([&] { validate_cost({8, {}, absurd}); }), ErrorCode::kNumberOutOfRange);
  }
  validate_cost({8, {{"full", 1e100, 1e-100}}, 0.0});
  validate_cost({.capacity_tokens = 8, .stages = {{"full", 1.0, 0.0}}});
}

TEST(Score, ComparesLexicographically) {
  EXPECT_LT((Score{1.0, 9.0, 9.0}), (Score{2.0, 0.0, 0.0}));
  EXPECT_LT((Score{1.0, 2.0, 3.0}), (Score{1.0, 2.0, 4.0}));
}

TEST(Placement, IdentityIsValidAndMovesCountRanksOnly) {
  const Placement before = identity_placement(2, 8, 4);
  validate_placement(before, 2, 8);
  Placement after = before;
  LayerPlacement& layer = after.layers[MoeLayer{1}];
  std::swap(layer[ExpertId{0}], layer[ExpertId{1}]);  // same EP rank
  EXPECT_EQ(count_moved_experts(before, after), 0);
  std::swap(layer[ExpertId{0}], layer[ExpertId{7}]);
  EXPECT_EQ(count_moved_experts(before, after), 2);
  layer[ExpertId{0}] = layer[ExpertId{7}];
  EXPECT_EQ(code_of([&] { validate_placement(after, 2, 8); }), ErrorCode::kFileMalformed);
  EXPECT_EQ(code_of([&] { validate_placement(before, 3, 8); }), ErrorCode::kFileMalformed);
}

TEST(Layout, FaultsAreNamed) {
  CellLayout layout{1, 2, IndexVector<SampleId, CellId>{3U}};
  layout.cell_of_sample[SampleId{2}] = CellId{1};
  const IndexVector<SampleId, std::int64_t> lengths{std::vector<std::int64_t>{40, 50, 60}};
  EXPECT_EQ(find_layout_fault(layout, lengths, 90), "");
  EXPECT_EQ(
      find_layout_fault(layout, lengths, 89),
      "cell (row 0, slot 0) holds 2 samples, 90 of 89 tokens"
  );
  layout.cell_of_sample[SampleId{2}] = CellId{0};
  EXPECT_EQ(
      find_layout_fault(layout, lengths, 200),
      "cell (row 0, slot 1) holds 0 samples, 0 of 200 tokens"
  );
  layout.cell_of_sample[SampleId{2}] = CellId{2};
  EXPECT_EQ(find_layout_fault(layout, lengths, 200), "sample 2 is in cell 2");
}

}  // namespace
}  // namespace routepack::domain
