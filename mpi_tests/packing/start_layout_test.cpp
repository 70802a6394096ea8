// Start layouts: always valid, as level as largest differencing, different from each other.
#include "packing/start_layout.hpp"

#include <gtest/gtest.h>

#include "packing/cell_packing.hpp"
#include "packing/karmarkar_karp.hpp"
#include "packing/pack_rows.hpp"
#include "support/planted.hpp"

namespace routepack::packing {
namespace {

constexpr StartKind kAllKinds[] = {
    StartKind::kPacked, StartKind::kKarmarkarKarp, StartKind::kShuffledFit,
    StartKind::kRandomBestFit};

StartProblem make_problem(
    const testing::PlantedWindow& window, const Topology& topology, int num_extra_rows = 0
) {
  StartProblem problem;
  problem.padded_lengths = pad_lengths(window.lengths, 1, window.capacity_tokens);
  problem.capacity_tokens = window.capacity_tokens;
  problem.topology = topology;
  const auto pack = [&](int row_multiple) {
    return pack_rows(problem.padded_lengths, problem.capacity_tokens, topology.dp, row_multiple, {})
        .layout;
  };
  problem.feasible = pack(1);
  if (num_extra_rows > 0) {
    problem.feasible = pack(problem.feasible.num_rows + num_extra_rows);
  }
  problem.num_rows = problem.feasible.num_rows;
  for (const std::int64_t length : problem.padded_lengths) {
    problem.attention_work.push_back(length * 1000 + length * length);
  }
  return problem;
}

std::int64_t largest_work(
    const IndexVector<SampleId, CellId>& cell_of_sample,
    const IndexVector<SampleId, std::int64_t>& work,
    int num_cells
) {
  IndexVector<CellId, std::int64_t> total{static_cast<std::size_t>(num_cells), 0};
  for (const SampleId sample : ids<SampleId>(work.size())) {
    total[cell_of_sample[sample]] += work[sample];
  }
  return *std::max_element(total.begin(), total.end());
}

void expect_valid(const StartProblem& problem, std::uint64_t seed) {
  for (const StartKind kind : kAllKinds) {
    SCOPED_TRACE(static_cast<int>(kind));
    const random::Stream stream{seed, random::Purpose::kStarts, 1};
    const CellLayout layout = make_start_layout(kind, problem, stream);
    EXPECT_EQ(find_layout_fault(layout, problem.padded_lengths, problem.capacity_tokens), "");
    EXPECT_EQ(layout.num_rows, problem.num_rows);
    EXPECT_EQ(layout.dp, problem.topology.dp);
    EXPECT_EQ(layout, make_start_layout(kind, problem, stream));
  }
}

TEST(StartLayout, IsValidOnRandomWindows) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const random::Stream stream = testing::planted_stream(seed, 1);
    const Topology topology{.dp = 8, .ep = seed % 2 == 0 ? 4 : 8};
    expect_valid(
        make_problem(
            testing::lognormal_window(200, 3000.0, 0.8, 16384, testing::LongTail::kClipped, stream),
            topology
        ),
        seed
    );
    expect_valid(make_problem(testing::cut_full_cells(16, 9000, 12, stream), topology), seed);
    expect_valid(make_problem(testing::one_per_cell(32, 4096, stream), topology), seed);
    expect_valid(make_problem(testing::all_equal(50, 10, 64), topology), seed);
    expect_valid(make_problem(testing::uniform_window(40, 1, 20, 4096, stream), topology, 4), seed);
  }
}

TEST(StartLayout, IsValidOnTheSmallestWindows) {
  expect_valid(make_problem({"one", {1}, 1, std::nullopt}, {.dp = 1}), 1);
  expect_valid(make_problem({"as many as cells", {3, 2, 1, 1}, 3, std::nullopt}, {.dp = 4}), 1);
  StartProblem no_work = make_problem(testing::all_equal(9, 5, 16), {.dp = 3, .ep = 3});
  for (std::int64_t& work : no_work.attention_work) {
    work = 0;
  }
  expect_valid(no_work, 1);
}

TEST(StartLayout, RandomKindsDifferByStream) {
  const StartProblem problem = make_problem(
      testing::lognormal_window(
          300, 3000.0, 0.8, 16384, testing::LongTail::kClipped, testing::planted_stream(3, 2)
      ),
      {.dp = 8, .ep = 8}
  );
  for (const StartKind kind : {StartKind::kShuffledFit, StartKind::kRandomBestFit}) {
    EXPECT_NE(
        make_start_layout(kind, problem, random::Stream{1, random::Purpose::kStarts, 1}),
        make_start_layout(kind, problem, random::Stream{1, random::Purpose::kStarts, 2})
    );
  }
}

TEST(StartLayout, IsAtLeastAsLevelAsLargestDifferencing) {
  int num_compared = 0;
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    const StartProblem problem = make_problem(
        testing::lognormal_window(
            256, 2000.0, 0.8, 16384, testing::LongTail::kClipped, testing::planted_stream(seed, 3)
        ),
        {.dp = 8, .ep = 8}, 2
    );
    const int num_cells = problem.feasible.num_cells();
    const IndexVector<SampleId, CellId> differenced =
        partition_karmarkar_karp(problem.attention_work, num_cells);
    if (!find_layout_fault(
             CellLayout{problem.num_rows, 8, differenced}, problem.padded_lengths,
             problem.capacity_tokens
        )
             .empty()) {
      continue;
    }
    ++num_compared;
    const CellLayout start = make_start_layout(
        StartKind::kKarmarkarKarp, problem, random::Stream{1, random::Purpose::kStarts, 0}
    );
    EXPECT_LE(
        largest_work(start.cell_of_sample, problem.attention_work, num_cells),
        largest_work(differenced, problem.attention_work, num_cells)
    );
  }
  EXPECT_GE(num_compared, 10);
}

// Sum over (row, shard) of the largest work of its cells.
std::int64_t sum_of_peaks(const StartProblem& problem, const CellLayout& layout) {
  const int per_block = problem.topology.dp_per_shard();
  std::vector<std::int64_t> work(static_cast<std::size_t>(layout.num_cells()), 0);
  for (const SampleId sample : ids<SampleId>(layout.cell_of_sample.size())) {
    work[layout.cell_of_sample[sample].offset()] += problem.attention_work[sample];
  }
  std::int64_t sum = 0;
  for (auto block = work.begin(); block != work.end(); block += per_block) {
    sum += *std::max_element(block, block + per_block);
  }
  return sum;
}

TEST(StartLayout, LiftsTheCellsBesideAHeavyOne) {
  // One sample weighs more than any level cell; the other cells of its block can take more at no
  // cost, so the sum of peaks stays at the mean over blocks.
  testing::PlantedWindow window =
      testing::uniform_window(400, 50, 200, 16384, testing::planted_stream(1, 6));
  window.lengths.push_back(1900);
  StartProblem problem = make_problem(window, {.dp = 8, .ep = 8}, 2);
  ASSERT_EQ(problem.num_rows, 3);
  std::int64_t total = 0;
  for (const std::int64_t work : problem.attention_work) {
    total += work;
  }
  ASSERT_GT(problem.attention_work[SampleId{400}], 5 * total / 4 / 24);
  for (const StartKind kind : kAllKinds) {
    SCOPED_TRACE(static_cast<int>(kind));
    const CellLayout layout =
        make_start_layout(kind, problem, random::Stream{1, random::Purpose::kStarts, 1});
    EXPECT_LE(sum_of_peaks(problem, layout), total / 8 + total / 8 / 100);
  }
}

TEST(StartLayout, IsLevelEvenAtAFillOf99Percent) {
  for (std::uint32_t seed = 0; seed < 3; ++seed) {
    SCOPED_TRACE(seed);
    const testing::PlantedWindow window =
        testing::cut_full_cells(63, 16384, 12, testing::planted_stream(seed, 8));
    const StartProblem problem = make_problem(window, {.dp = 8, .ep = 8});
    ASSERT_EQ(problem.num_rows, 8);
    expect_valid(problem, seed);
    const auto peaks = [&](StartKind kind) {
      return sum_of_peaks(
          problem, make_start_layout(kind, problem, random::Stream{1, random::Purpose::kStarts, 1})
      );
    };
    EXPECT_LT(peaks(StartKind::kPacked), sum_of_peaks(problem, problem.feasible));
  }
}

TEST(KarmarkarKarp, SplitsTheTextbookExample) {
  // Largest differencing of 8, 7, 6, 5, 4 in two: 8-7, 6-5, 4 -> 4-1, 1 -> 3-1: a difference of 2.
  const IndexVector<SampleId, std::int64_t> work{std::vector<std::int64_t>{8, 7, 6, 5, 4}};
  EXPECT_EQ(largest_work(partition_karmarkar_karp(work, 2), work, 2), 16);
}

TEST(KarmarkarKarp, LeavesNoPartEmpty) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    const random::Stream stream = testing::planted_stream(seed, 4);
    const IndexVector<SampleId, std::int64_t> work{
        testing::uniform_window(40, 1, 9, 9, stream).lengths};
    const int num_cells = 1 + static_cast<int>(stream.at(96, 0).below(0, 40));
    std::vector<int> held(static_cast<std::size_t>(num_cells), 0);
    for (const CellId cell : partition_karmarkar_karp(work, num_cells)) {
      ++held[cell.offset()];
    }
    EXPECT_EQ(std::count(held.begin(), held.end(), 0), 0);
  }
}

TEST(ArrangeBlocks, PutsEqualCellsSideBySideAndLevelsShards) {
  // Eight cells of one sample in 2 rows of 2 shards of 2 DP slots; peaks 8, 6, 4, 2.
  const IndexVector<SampleId, std::int64_t> work{std::vector<std::int64_t>{8, 1, 7, 2, 6, 3, 5, 4}};
  CellContents contents{work, work, 8};
  for (const SampleId sample : ids<SampleId>(8)) {
    contents.put(sample, CellId{sample.value()});
  }
  const CellLayout layout = arrange_blocks(contents, {.dp = 4, .ep = 2}, 2, 200);
  std::vector<std::int64_t> shard_sum(2, 0);
  std::vector<std::int64_t> peak(4, 0);
  for (const SampleId sample : ids<SampleId>(8)) {
    const CellId cell = layout.cell_of_sample[sample];
    auto& block = peak[static_cast<std::size_t>(cell.value() / 2)];
    block = std::max(block, work[sample]);
  }
  for (std::size_t block = 0; block < 4; ++block) {
    shard_sum[block % 2] += peak[block];
  }
  EXPECT_EQ(shard_sum[0], 10);
  EXPECT_EQ(shard_sum[1], 10);
}

}  // namespace
}  // namespace routepack::packing
