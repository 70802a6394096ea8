#include <gtest/gtest.h>

#include <filesystem>
#include <new>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "base/check.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "comm/dealt.hpp"
#include "comm/node_shared.hpp"
#include "support/expect_error.hpp"
#include "support/temp_folder.hpp"

namespace routepack::comm {
namespace {

using testing::expect_error;

class Comm : public ::testing::Test {
 protected:
  // Rank 0's temporary folder, which lives as long as the test.
  std::string broadcast_folder() {
    std::vector<char> path;
    if (comm_.is_root()) {
      folder_.emplace();
      path.assign(folder_->path().begin(), folder_->path().end());
    }
    path = broadcast(std::move(path), 0, comm_);
    return {path.begin(), path.end()};
  }
  void TearDown() override { barrier(comm_); }

  std::optional<testing::TempFolder> folder_;
  Communicator comm_{MPI_COMM_WORLD};
  std::int64_t rank_ = comm_.mpi_rank();
  std::int64_t ranks_ = comm_.num_mpi_ranks();
};

TEST_F(Comm, SharesCoverEverythingOnce) {
  for (const std::int64_t count : {0, 1, 5, 17}) {
    std::int64_t end = 0;
    for (int part = 0; part < 4; ++part) {
      const Share share = share_of(count, part, 4);
      EXPECT_EQ(share.begin, end);
      EXPECT_LE(share.size(), count / 4 + 1);
      end = share.end;
    }
    EXPECT_EQ(end, count);
  }
}

TEST_F(Comm, DealtItemsComeBackInTheirOrderAtAnyNumberOfRanks) {
  for (const std::size_t count : {0U, 1U, 3U, 10U}) {
    for (const int threads : {1, 2}) {
      std::vector<std::vector<std::int32_t>> mine(dealt_items(count, comm_).size());
      for_each_dealt(
          count, threads,
          [&](std::size_t position, std::size_t item) {
            mine[position].assign(item % 4, static_cast<std::int32_t>(item));  // some have none
          },
          comm_
      );
      const std::vector<std::vector<std::int32_t>> all = gather_dealt(count, mine, comm_);
      ASSERT_EQ(all.size(), count);
      for (std::size_t item = 0; item < count; ++item) {
        EXPECT_EQ(all[item], std::vector<std::int32_t>(item % 4, static_cast<std::int32_t>(item)));
      }
    }
  }
  expect_error(ErrorCode::kUsage, "too far", [&] {
    for_each_dealt(
        5, 2,
        [](std::size_t, std::size_t item) { RP_CHECK(item < 2, ErrorCode::kUsage, "too far"); },
        comm_
    );
  });
}

TEST_F(Comm, SumsMinimaAndGathersInRankOrder) {
  EXPECT_EQ(all_reduce_sum(rank_ + 1, comm_), ranks_ * (ranks_ + 1) / 2);
  EXPECT_EQ(all_reduce_min(rank_ + 5, comm_), 5);
  EXPECT_EQ(all_reduce_max(rank_, comm_), ranks_ - 1);
  const std::vector<std::int64_t> sums =
      all_reduce_sum(std::vector<std::int64_t>{rank_, 2 * rank_}, comm_);
  EXPECT_EQ(sums[1], ranks_ * (ranks_ - 1));
  const int last = comm_.num_mpi_ranks() - 1;
  const std::vector<std::uint32_t> reduced =
      reduce_sum(std::vector<std::uint32_t>{1U, static_cast<std::uint32_t>(rank_)}, last, comm_);
  if (comm_.mpi_rank() == last) {
    EXPECT_EQ(reduced[1], static_cast<std::uint32_t>(ranks_ * (ranks_ - 1) / 2));
  }
  // Rank r contributes r values: r, r, …
  const std::vector<std::int32_t> mine(static_cast<std::size_t>(rank_), comm_.mpi_rank());
  std::vector<std::int32_t> expected;
  for (std::int32_t rank = 0; rank < comm_.num_mpi_ranks(); ++rank) {
    expected.insert(expected.end(), static_cast<std::size_t>(rank), rank);
  }
  EXPECT_EQ(all_gather(mine, comm_), expected);
}

TEST_F(Comm, BroadcastTakesTheRootsLength) {
  const int root = comm_.num_mpi_ranks() - 1;
  std::vector<std::uint16_t> values;
  if (comm_.mpi_rank() == root) {
    values = {1, 2, 3};
  }
  EXPECT_EQ(broadcast(values, root, comm_), (std::vector<std::uint16_t>{1, 2, 3}));
}

TEST_F(Comm, AllRanksThrowTheErrorOfTheLowestFailingOne) {
  const std::int64_t first = ranks_ / 2;
  std::string text;
  try {
    agree_on(
        [&] { RP_CHECK(rank_ < first, ErrorCode::kZeroLengthSample, "sample {}", rank_); }, comm_
    );
  } catch (const Error& error) {
    text = error.what();
    EXPECT_EQ(error.code(), ErrorCode::kZeroLengthSample);
  }
  EXPECT_EQ(text, fmt::format("sample {}", first));
  EXPECT_EQ(agree_on([] { return 7; }, comm_), 7);
}

TEST_F(Comm, AnyExceptionBecomesAnAgreedError) {
  const int last = comm_.num_mpi_ranks() - 1;
  const auto on_the_last = [&](const auto& action) {
    return [&] { comm_.mpi_rank() == last ? action() : void(); };
  };
  expect_error(ErrorCode::kTransferFailed, fmt::format("rank {}: too odd", last), [&] {
    agree_on(on_the_last([] { throw std::runtime_error("too odd"); }), comm_);
  });
  expect_error(ErrorCode::kTransferFailed, "unknown type", [&] {
    agree_on(on_the_last([] { throw 7; }), comm_);
  });
  expect_error(ErrorCode::kNumberOutOfRange, "out of memory", [&] {
    agree_on(on_the_last([] { throw std::bad_alloc(); }), comm_);
  });
}

TEST_F(Comm, DisagreementIsSeenByEveryRank) {
  agree_same("12", "plan", comm_);
  if (ranks_ == 1) {
    return;
  }
  const std::string mine = rank_ + 1 == ranks_ ? "34" : "12";
  expect_error(
      ErrorCode::kPlanDisagreement,
      fmt::format("plan: rank 0 holds 12, rank {} holds 34", ranks_ - 1),
      [&] { agree_same(mine, "plan", comm_); }
  );
}

TEST_F(Comm, ThisMachineIsOneNode) { EXPECT_EQ(count_nodes(comm_), 1); }

// What a rank wrote is seen by the ranks that share it, and by no other.
void expect_common_memory(
    const NodeSharedArray<std::int32_t>& shared, bool is_shared, const Communicator& node
) {
  const std::span<std::int32_t> values = shared.span();
  ASSERT_EQ(shared.is_shared(), is_shared);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(values.data()) % 64, 0U);
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0), 0);
  NodeSharedBytes::synchronize(node);
  values[static_cast<std::size_t>(node.mpi_rank())] = node.mpi_rank() + 1;
  NodeSharedBytes::synchronize(node);
  const int ranks = node.num_mpi_ranks();
  EXPECT_EQ(
      std::accumulate(values.begin(), values.end(), 0),
      is_shared ? ranks * (ranks + 1) / 2 : node.mpi_rank() + 1
  );
  NodeSharedBytes::synchronize(node);
}

TEST_F(Comm, NodeSharedArrayHasOneCopy) {
  const Communicator node = comm_.split_by_node();
  const NodeSharedArray<std::int32_t> shared(static_cast<std::size_t>(node.num_mpi_ranks()), node);
  expect_common_memory(shared, true, node);
  const NodeSharedBytes nothing(0, node);
  EXPECT_EQ(nothing.size(), 0U);
}

// A place that does not work leads to the next one, and the last resort is a copy a rank.
TEST_F(Comm, NodeSharedArrayFallsBackWithoutWaiting) {
  const Communicator node = comm_.split_by_node();
  const auto size = static_cast<std::size_t>(node.num_mpi_ranks());
  const std::string folder = broadcast_folder();
  for (const SharedPlaces& places :
       {SharedPlaces{"/no/such/folder", folder}, SharedPlaces{"/proc", "/no/such/folder", ""}}) {
    expect_common_memory(NodeSharedArray<std::int32_t>(size, node, places), true, node);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));  // the name is gone as soon as all have it
  const bool alone = node.num_mpi_ranks() == 1;
  for (const SharedPlaces& places : {SharedPlaces{"/no/such/folder"}, SharedPlaces{}}) {
    expect_common_memory(NodeSharedArray<std::int32_t>(size, node, places), alone, node);
  }
}

// Ranks in containers: the same path leads each of them elsewhere.
TEST_F(Comm, NodeSharedArrayIsNotMappedFromAnotherFile) {
  const Communicator node = comm_.split_by_node();
  const testing::TempFolder mine;
  const testing::WorkingFolder there(mine.path());
  const NodeSharedArray<std::int32_t> shared(
      static_cast<std::size_t>(node.num_mpi_ranks()), node, {"."}
  );
  expect_common_memory(shared, node.num_mpi_ranks() == 1, node);
}

TEST_F(Comm, NodeSharedBytesRefuseWhatNoNodeHas) {
  const Communicator node = comm_.split_by_node();
  expect_error(ErrorCode::kNumberOutOfRange, "out of memory", [&] {
    const NodeSharedBytes bytes(std::size_t{1} << 60U, node);
  });
}

}  // namespace
}  // namespace routepack::comm
