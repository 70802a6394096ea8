#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <limits>
#include <set>
#include <string>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/digest.hpp"
#include "base/log.hpp"
#include "base/node_memory.hpp"
#include "base/parallel.hpp"
#include "routepack/ids.hpp"
#include "support/expect_error.hpp"
#include "support/temp_folder.hpp"

namespace routepack::base {
namespace {

TEST(Checked, ReportsOverflowInsteadOfWrapping) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(checked_add(kMax - 1, 1, "sum"), kMax);
  EXPECT_THROW((void)checked_add(kMax, 1, "sum"), Error);
  EXPECT_EQ(checked_multiply(3'037'000'499, 3'037'000'499, "square"), 9'223'372'030'926'249'001);
  EXPECT_THROW((void)checked_multiply(std::int64_t{1} << 32U, std::int64_t{1} << 31U, "x"), Error);
}

TEST(Checked, DividesUp) {
  EXPECT_EQ(ceil_divide(10, 4), 3);
  EXPECT_EQ(ceil_divide(8, 4), 2);
  EXPECT_EQ(round_up(65, 64), 128);
  EXPECT_EQ(round_up(64, 64), 64);
}

TEST(NodeMemory, TheLeastLimitOfAllGroupsCounts) {
  const testing::TempFolder folder;
  std::filesystem::create_directories(folder.file("a/b"));
  const auto limit = [&](const std::string& group) {
    return control_group_limit(folder.path(), group);
  };
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(limit("/a/b"), kNone);
  testing::write_file(folder.file("memory.max"), "4000\n");
  testing::write_file(folder.file("a/memory.max"), "1000\n");
  testing::write_file(folder.file("a/b/memory.max"), "max\n");
  EXPECT_EQ(limit("/a/b"), 1000);
  EXPECT_EQ(limit("/a"), 1000);
  EXPECT_EQ(limit("/"), 4000);
  EXPECT_EQ(limit(""), 4000);
  testing::write_file(folder.file("a/b/memory.max"), "10\n");
  EXPECT_EQ(limit("/a/b"), 10);
  EXPECT_EQ(limit("/elsewhere"), 4000);
}

TEST(NodeMemory, IsThatOfThisMachine) {
  EXPECT_GT(node_memory_bytes(), 1 << 20);
  EXPECT_LT(node_memory_bytes(), std::int64_t{1} << 50U);
}

TEST(Error, EveryCodeHasANameAndAStatus) {
  std::set<std::string> names;
  for (int code = 0; code <= static_cast<int>(ErrorCode::kTransferFailed); ++code) {
    names.insert(std::string(name_of(static_cast<ErrorCode>(code))));
    const int status = exit_status_of(static_cast<ErrorCode>(code));
    EXPECT_GE(status, 2);
    EXPECT_LE(status, 4);
  }
  EXPECT_EQ(names.size(), 22U);
  EXPECT_EQ(names.count("UNKNOWN"), 0U);
  EXPECT_EQ(exit_status_of(ErrorCode::kNonemptyCellsImpossible), 3);
  EXPECT_EQ(exit_status_of(ErrorCode::kTransferFailed), 4);
}

TEST(Digest, MatchesXxh3ReferenceAndSeparatesBoundaries) {
  // XXH3_128bits of no bytes with seed 0 (xxHash reference vectors).
  EXPECT_EQ(to_hex(digest_of({})), "99aa06d3014798d86001c324468d497f");
  DigestBuilder left;
  left.add_all(std::vector<int>{1});
  left.add_all(std::vector<int>{2, 3});
  DigestBuilder right;
  right.add_all(std::vector<int>{1, 2});
  right.add_all(std::vector<int>{3});
  EXPECT_NE(to_hex(left.finish()), to_hex(right.finish()));
}

TEST(ParallelFor, RunsEverythingAndThrowsTheFirstByItem) {
  for (const ParallelDeal deal : {ParallelDeal::kAsFree, ParallelDeal::kFixed}) {
    for (const int threads : {1, 3}) {
      std::vector<int> runs(100, 0);
      testing::expect_error(ErrorCode::kUsage, "item 6", [&] {
        parallel_for(
            runs.size(), threads,
            [&](std::size_t item) {
              ++runs[item];
              RP_CHECK(item % 7 != 6, ErrorCode::kUsage, "item {}", item);
            },
            deal
        );
      });
      EXPECT_EQ(runs, std::vector<int>(100, 1));
    }
  }
  parallel_for(0, 2, [](std::size_t item) { FAIL() << item; });
}

TEST(ProcessTime, GrowsFromTheStartOfTheProcess) {
  const double before = seconds_since_process_start();
  EXPECT_GE(before, 0.0);
  EXPECT_LT(before, 600.0);
  timespec pause{0, 50'000'000};
  nanosleep(&pause, nullptr);
  EXPECT_GE(seconds_since_process_start(), before + 0.03);  // the start is known to 10 ms
}

TEST(IndexVector, IsIndexedByItsIdOnly) {
  IndexVector<ExpertId, int> pairs{3U, 7};
  pairs[ExpertId{1}] = 9;
  int total = 0;
  for (const ExpertId expert : ids<ExpertId>(3)) {
    total += pairs[expert];
  }
  EXPECT_EQ(total, 23);
}

TEST(Report, IsDroppedWhereTheStreamIsFull) {
  std::FILE* const full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  for (int time = 0; time < 3; ++time) {
    write_unchecked(full, "a line\n");
  }
  std::fclose(full);
}

}  // namespace
}  // namespace routepack::base
