#include "objective/evaluate.hpp"

#include <gtest/gtest.h>

#include "support/expect_error.hpp"
#include "support/search_instance.hpp"

namespace routepack::objective {
namespace {

// Two samples, two cells, one shard of two DP slots, two experts on two EP ranks, one layer.
TEST(ComputeMetrics, FollowsTheCostModelByHand) {
  const Topology topology{.dp = 2, .ep = 2};
  const CostModel cost{10, {{"kda", 2.0, 0.0}, {"full", 1.0, 4.0}}, 0.5};
  const CellLayout layout{1, 2, IndexVector<SampleId, CellId>{{CellId{0}, CellId{1}}}};
  WindowSlice slice;
  slice.shape = {2, {0}, 1, 2, 1, ""};
  slice.lengths = {10, 5};
  slice.demand = {7, 3, 1, 4};  // [sample][expert]
  const IndexVector<SampleId, std::int64_t> padded{slice.lengths};
  const PolicyMetrics metrics = compute_metrics(
      sum_cells(layout, padded),
      sum_block_loads(slice, layout, identity_placement(1, 2, 2), topology), 1, topology, cost
  );
  // kda: max(2·1, 2·½) = 2; full: max(1 + 4, ½ + 1) = 5. Experts: ½·max(8, 7)/10 = 0.4.
  EXPECT_DOUBLE_EQ(metrics.attention, 7.0);
  EXPECT_DOUBLE_EQ(metrics.ep_peak_sum, 0.4);
  EXPECT_DOUBLE_EQ(metrics.score.max_shard, 7.4);
  EXPECT_DOUBLE_EQ(metrics.score.sum_shards, 7.4);
  EXPECT_DOUBLE_EQ(metrics.score.max_row, 7.4);
  EXPECT_DOUBLE_EQ(metrics.tail_peak, 0.8);
  EXPECT_DOUBLE_EQ(metrics.ep_balance_efficiency, 7.5 / 8.0);
  EXPECT_DOUBLE_EQ(metrics.cv_global, 0.5 / 7.5);
  EXPECT_EQ(metrics.rows, 1);
}

TEST(ComputeMetrics, DenseWindowsHaveNoExpertCost) {
  const Topology topology{.dp = 2, .ep = 1};
  const CellLayout layout{1, 2, IndexVector<SampleId, CellId>{{CellId{0}, CellId{1}}}};
  const IndexVector<SampleId, std::int64_t> padded{{4, 8}};
  const PolicyMetrics metrics =
      compute_metrics(sum_cells(layout, padded), {}, 0, topology, {8, {{"full", 1.0, 0.0}}, 1.0});
  EXPECT_DOUBLE_EQ(metrics.score.max_shard, 1.0);
  EXPECT_DOUBLE_EQ(metrics.score.sum_shards, 1.5);
  EXPECT_EQ(metrics.ep_balance_efficiency, 1.0);
}

TEST(SumCells, SquaresThatDoNotFitAreRefused) {
  const CellLayout layout{1, 1, IndexVector<SampleId, CellId>{1U}};
  const IndexVector<SampleId, std::int64_t> padded{1U, std::int64_t{1} << 33U};
  testing::expect_error(ErrorCode::kNumberOutOfRange, "squared length", [&] {
    (void)sum_cells(layout, padded);
  });
}

TEST(CheckSquaredLengths, AllowsWhatEveryCellCanSum) {
  constexpr std::int64_t kLong = std::int64_t{1} << 31U;
  check_squared_lengths({}, std::int64_t{1} << 40U);
  check_squared_lengths(IndexVector<SampleId, std::int64_t>{2U, kLong}, 2 * kLong - 1);
  testing::expect_error(ErrorCode::kNumberOutOfRange, "squared lengths of a cell", [&] {
    check_squared_lengths(IndexVector<SampleId, std::int64_t>{2U, kLong}, 2 * kLong);
  });
}

}  // namespace
}  // namespace routepack::objective
