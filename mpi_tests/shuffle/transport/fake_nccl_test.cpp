// The fake must be as strict as the real thing: what deadlocks, mismatches or is undefined there
// is found here.
#include "shuffle/transport/fake_nccl.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <chrono>
#include <functional>

#include "base/clock.hpp"
#include "random/stream.hpp"
#include "shuffle/transport/fake_ranks.hpp"

namespace routepack::shuffle {
namespace {

using testing::cut_into_kernels;
using ::testing::ElementsAre;
using testing::FakeFabric;
using testing::FakeSettings;
using testing::GroupOp;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kPoison;
using testing::run_threads;

TEST(FakeSchedule, RoundsGoThroughTriangularDistances) {
  EXPECT_THAT(testing::round_distances(4), ElementsAre(0, 1, 3, 2));
  EXPECT_THAT(testing::round_distances(6), ElementsAre(0, 1, 3, 2, 5, 4));
  EXPECT_THAT(testing::round_distances(1), ElementsAre(0));
}

// Rank 0 of 3: rounds 1 and 2 send to 1 and 2 and receive from 2 and 1.
TEST(FakeSchedule, ANewKernelStartsAgainAtRoundZero) {
  const std::vector<GroupOp> ops = {{1, true}, {1, true}, {1, true}, {2, true}, {2, false}};
  EXPECT_THAT(cut_into_kernels(0, 3, ops, 100), ElementsAre(ElementsAre(0, 4, 3, 1, 2)))
      << "sweep after sweep";
  EXPECT_THAT(
      cut_into_kernels(0, 3, ops, 2),
      ElementsAre(ElementsAre(0, 4), ElementsAre(1, 3), ElementsAre(2))
  ) << "the second send to rank 1 goes before the first one to rank 2";
}

// A rank's communicator and stream, and groups on them.
class Member {
 public:
  Member(FakeFabric& fabric, int num_ranks, int rank, const NcclUniqueId& id)
      : libraries(fabric.libraries(rank)), nccl(*libraries.nccl), device(*libraries.device) {
    EXPECT_EQ(device.set_device(0), DeviceResult::kSuccess);
    stream = device.create_stream().value;
    comm = nccl.init_comm(num_ranks, id, rank, 1).value;
    while (nccl.async_error(comm).value == NcclResult::kInProgress) {
      std::this_thread::yield();
    }
  }
  ~Member() {
    (void)nccl.abort(comm);
    (void)device.destroy_stream(stream);
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  // kInProgress: neither done nor failed after `seconds`.
  [[nodiscard]] NcclResult wait(double seconds = 20.0) {
    const base::Deadline deadline = base::Deadline::after(seconds);
    while (!deadline.expired()) {
      const NcclResult state = nccl.async_error(comm).value;
      if (state != NcclResult::kSuccess && state != NcclResult::kInProgress) {
        return state;
      }
      if (state == NcclResult::kSuccess && device.query_stream(stream) == DeviceResult::kSuccess) {
        return NcclResult::kSuccess;
      }
      std::this_thread::yield();
    }
    return NcclResult::kInProgress;
  }

  DeviceLibraries libraries;
  NcclApi& nccl;
  DeviceApi& device;
  DeviceStream stream = nullptr;
  NcclComm comm = nullptr;
};

NcclUniqueId make_id(FakeFabric& fabric) {
  return fabric.libraries(0).nccl->make_unique_id().value;
}

// counts[source][target] operations of 4 bytes for every pair, in one group on each rank.
void run_group(FakeFabric& fabric, const std::vector<std::vector<int>>& counts) {
  const auto num_ranks = static_cast<int>(counts.size());
  const NcclUniqueId id = make_id(fabric);
  std::barrier connected{num_ranks};
  run_threads(num_ranks, [&](int rank) {
    Member member{fabric, num_ranks, rank, id};
    connected.arrive_and_wait();  // before others may deadlock
    const auto own = static_cast<std::size_t>(rank);
    std::vector<std::int32_t> outgoing(100, rank);
    std::vector<std::int32_t> incoming;
    incoming.reserve(1000);
    (void)member.nccl.start_group();
    for (int peer = 0; peer < num_ranks; ++peer) {
      const auto other = static_cast<std::size_t>(peer);
      for (int n = 0; n < counts[own][other]; ++n) {
        const auto* data = reinterpret_cast<const std::byte*>(outgoing.data() + n);
        EXPECT_EQ(
            member.nccl.send(data, 4, peer, member.comm, member.stream), NcclResult::kSuccess
        );
      }
      for (int n = 0; n < counts[other][own]; ++n) {
        incoming.push_back(-1);
        auto* data = reinterpret_cast<std::byte*>(&incoming.back());
        EXPECT_EQ(
            member.nccl.receive(data, 4, peer, member.comm, member.stream), NcclResult::kSuccess
        );
      }
    }
    EXPECT_EQ(member.nccl.end_group(), NcclResult::kSuccess);
    if (member.wait() == NcclResult::kSuccess) {
      std::size_t at = 0;
      for (int peer = 0; peer < num_ranks; ++peer) {
        for (int n = 0; n < counts[static_cast<std::size_t>(peer)][own]; ++n) {
          EXPECT_EQ(incoming[at++], peer);
        }
      }
    } else {
      EXPECT_FALSE(fabric.deadlocks().empty());
    }
  });
}

std::vector<std::vector<int>> random_counts(int num_ranks, std::uint32_t max, std::uint64_t seed) {
  const random::Stream stream{seed, random::Purpose::kTests, 3};
  std::vector<std::vector<int>> counts(static_cast<std::size_t>(num_ranks));
  std::uint64_t draw = 0;
  for (std::size_t source = 0; source < counts.size(); ++source) {
    for (std::size_t target = 0; target < counts.size(); ++target) {
      const auto count = static_cast<int>(stream.at(0, draw++).below(0, max + 1));
      counts[source].push_back(source == target ? 0 : count);
    }
  }
  return counts;
}

// The rule that the transport is built on: with one operation a peer and direction no budget and
// no asymmetry can make kernels wait in a cycle.
TEST(FakeNccl, OneOperationAPeerNeverDeadlocks) {
  for (const int num_ranks : {2, 3, 5, 8}) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      SCOPED_TRACE(std::to_string(num_ranks) + " ranks, seed " + std::to_string(seed));
      FakeSettings settings;
      settings.max_kernel_ops = 2 + seed % 3;
      settings.seed = seed;
      FakeFabric fabric{settings};
      run_group(fabric, random_counts(num_ranks, 1, seed));
      EXPECT_THAT(fabric.deadlocks(), IsEmpty());
      EXPECT_THAT(fabric.violations(), IsEmpty());
    }
  }
}

TEST(FakeNccl, SeveralOperationsAPeerDeadlockWhenKernelsAreSmall) {
  int num_deadlocks = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    FakeSettings settings;
    settings.max_kernel_ops = 3;
    settings.seed = seed;
    FakeFabric fabric{settings};
    const auto start = std::chrono::steady_clock::now();
    run_group(fabric, random_counts(5, 4, seed));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15)) << "no hang";
    num_deadlocks += fabric.deadlocks().empty() ? 0 : 1;
    for (const std::string& cycle : fabric.deadlocks()) {
      EXPECT_THAT(cycle, HasSubstr(" -> "));
      EXPECT_EQ(cycle.front(), cycle.back()) << cycle;
    }
    EXPECT_THAT(fabric.violations(), ::testing::Contains(HasSubstr("more than one")));
  }
  EXPECT_GT(num_deadlocks, 0);
}

TEST(FakeNccl, SeveralOperationsAPeerPassWhenTheKernelHoldsThemAll) {
  FakeFabric fabric;
  run_group(fabric, random_counts(5, 4, 1));
  EXPECT_THAT(fabric.deadlocks(), IsEmpty());
}

TEST(FakeNccl, ReportsSizesThatDiffer) {
  FakeFabric fabric;
  const NcclUniqueId id = make_id(fabric);
  run_threads(2, [&](int rank) {
    Member member{fabric, 2, rank, id};
    std::vector<std::byte> data(64);
    const NcclResult posted =
        rank == 0 ? member.nccl.send(data.data(), 33, 1, member.comm, member.stream)
                  : member.nccl.receive(data.data(), 32, 0, member.comm, member.stream);
    EXPECT_EQ(posted, NcclResult::kSuccess);
    EXPECT_EQ(member.wait(), NcclResult::kInvalidUsage);
    EXPECT_THAT(member.nccl.last_error(member.comm), HasSubstr("sends 33 bytes to rank 1"));
  });
  EXPECT_THAT(fabric.violations(), ElementsAre(HasSubstr("which expects 32")));
}

// A peer that posts nothing is no deadlock, only a long wait; an abort ends it.
TEST(FakeNccl, AbortEndsAWaitForAPeerThatNeverComes) {
  FakeFabric fabric;
  const NcclUniqueId id = make_id(fabric);
  run_threads(2, [&](int rank) {
    Member member{fabric, 2, rank, id};
    std::byte value{};
    if (rank == 0) {
      (void)member.nccl.receive(&value, 1, 1, member.comm, member.stream);
      EXPECT_EQ(member.wait(0.05), NcclResult::kInProgress);
      EXPECT_EQ(member.nccl.abort(member.comm), NcclResult::kSuccess);
      EXPECT_EQ(member.device.query_stream(member.stream), DeviceResult::kSuccess);
      EXPECT_EQ(member.nccl.async_error(member.comm).result, NcclResult::kInvalidArgument);
    }
  });
  EXPECT_THAT(fabric.deadlocks(), IsEmpty());
  EXPECT_THAT(
      fabric.violations(),
      ElementsAre(HasSubstr("async_error with a communicator that is gone"), HasSubstr("abort"))
  );
}

TEST(FakeNccl, MovesBytesAfterTheGroupAndPoisonsThemBefore) {
  FakeFabric fabric;
  const NcclUniqueId id = make_id(fabric);
  run_threads(1, [&](int rank) {
    Member member{fabric, 1, rank, id};
    const std::byte sent{1};
    std::byte received{2};
    fabric.hold(true);
    EXPECT_EQ(member.nccl.send(&sent, 1, 0, member.comm, member.stream), NcclResult::kInvalidUsage)
        << "to itself without a receive in the group";
    (void)member.nccl.start_group();
    (void)member.nccl.send(&sent, 1, 0, member.comm, member.stream);
    (void)member.nccl.receive(&received, 1, 0, member.comm, member.stream);
    EXPECT_EQ(received, std::byte{2});
    EXPECT_EQ(member.nccl.end_group(), NcclResult::kSuccess);
    EXPECT_EQ(received, kPoison);
    EXPECT_EQ(member.wait(0.01), NcclResult::kInProgress);
    fabric.hold(false);
    EXPECT_EQ(member.wait(), NcclResult::kSuccess);
    EXPECT_EQ(received, sent);
    EXPECT_EQ(member.nccl.end_group(), NcclResult::kInvalidUsage) << "no group is open";
  });
  EXPECT_THAT(fabric.violations(), IsEmpty());
}

TEST(FakeNccl, AnErrorWithinAGroupSpoilsIt) {
  FakeFabric fabric;
  const NcclUniqueId id = make_id(fabric);
  Member member{fabric, 1, 0, id};
  std::byte data[2] = {std::byte{5}, std::byte{6}};
  (void)member.nccl.start_group();
  (void)member.nccl.send(data, 1, 0, member.comm, member.stream);
  (void)member.nccl.receive(data + 1, 1, 0, member.comm, member.stream);
  EXPECT_EQ(member.nccl.send(data, 1, 7, member.comm, member.stream), NcclResult::kInvalidArgument);
  EXPECT_EQ(member.nccl.end_group(), NcclResult::kInvalidArgument);
  EXPECT_EQ(member.wait(), NcclResult::kSuccess);
  EXPECT_EQ(data[1], std::byte{6}) << "nothing was launched";
  EXPECT_EQ(fabric.num_groups(), 0);
}

TEST(FakeNccl, StreamsMustBeLeftAloneWhileAGroupLaunches) {
  FakeSettings settings;
  settings.polls_in_progress = 3;
  FakeFabric fabric{settings};
  const NcclUniqueId id = make_id(fabric);
  Member member{fabric, 1, 0, id};
  std::byte data[2] = {std::byte{5}, std::byte{6}};
  (void)member.nccl.start_group();
  (void)member.nccl.send(data, 1, 0, member.comm, member.stream);
  (void)member.nccl.receive(data + 1, 1, 0, member.comm, member.stream);
  EXPECT_EQ(member.nccl.end_group(), NcclResult::kInProgress);
  (void)member.device.query_stream(member.stream);
  EXPECT_THAT(fabric.violations(), ElementsAre(HasSubstr("while a group launches")));
  EXPECT_EQ(member.wait(), NcclResult::kSuccess);
  EXPECT_EQ(data[1], std::byte{5});
}

}  // namespace
}  // namespace routepack::shuffle
