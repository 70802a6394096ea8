// Transports alone: slices between all pairs, deadlines, recovery.
#include "shuffle/mpi_transport.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "shuffle/transport_cases.hpp"

namespace routepack {
namespace {

class TransportTest : public ::testing::TestWithParam<testing::TransportCase> {
 protected:
  struct Exchange {
    std::vector<std::shared_ptr<std::byte>> buffers;
    std::vector<SendSlice> sends;
    std::vector<RecvSlice> receives;
  };

  [[nodiscard]] int rank() { return transport_->control().rank(); }
  [[nodiscard]] int num_ranks() { return transport_->control().num_ranks(); }

  static std::byte value_at(int source, int target, std::int64_t round, std::int64_t at) {
    return static_cast<std::byte>((source * 31 + target * 17 + round * 7 + at * 3) & 0xff);
  }

  // Slices of `bytes` (0: none) to and from every other rank.
  Exchange make_exchange(std::int64_t round, const std::function<std::int64_t(int, int)>& bytes) {
    Exchange exchange;
    for (int peer = 0; peer < num_ranks(); ++peer) {
      if (const std::int64_t count = bytes(rank(), peer); peer != rank() && count > 0) {
        std::shared_ptr<std::byte> buffer = transport_->engine().allocate(count);
        for (std::int64_t at = 0; at < count; ++at) {
          buffer.get()[at] = value_at(rank(), peer, round, at);
        }
        exchange.sends.push_back(SendSlice{peer, buffer.get(), count});
        exchange.buffers.push_back(std::move(buffer));
      }
    }
    for (int peer = 0; peer < num_ranks(); ++peer) {
      if (const std::int64_t count = bytes(peer, rank()); peer != rank() && count > 0) {
        std::shared_ptr<std::byte> buffer = transport_->engine().allocate(count);
        exchange.receives.push_back(RecvSlice{peer, buffer.get(), count});
        exchange.buffers.push_back(std::move(buffer));
      }
    }
    return exchange;
  }
  [[nodiscard]] bool arrived(const Exchange& exchange, std::int64_t round) {
    for (const RecvSlice& slice : exchange.receives) {
      for (std::int64_t at = 0; at < slice.bytes; ++at) {
        if (slice.data[at] != value_at(slice.peer, rank(), round, at)) {
          return false;
        }
      }
    }
    return true;
  }
  void expect_clean_round(std::uint64_t serial, std::int64_t round) {
    const Exchange exchange = make_exchange(round, [](int, int) { return 3001; });
    transport_->begin(RoundId{serial, round}, exchange.sends, exchange.receives);
    EXPECT_FALSE(transport_->finish(Deadline::after(60.0)).has_value());
    EXPECT_TRUE(arrived(exchange, round));
  }

  std::unique_ptr<Transport> transport_ = GetParam().make();
};

TEST_P(TransportTest, CarriesSlicesOfAnySizeBetweenAllPairs) {
  const std::uint64_t serial = transport_->control().next_serial();
  std::int64_t round = 0;
  for (const std::int64_t base : {1, 15, 4096, 100003}) {
    const Exchange exchange = make_exchange(round, [base, round](int source, int target) {
      return (source + target + round) % 3 == 0 ? std::int64_t{0} : base + source * 5 + target;
    });
    transport_->begin(RoundId{serial, round}, exchange.sends, exchange.receives);
    EXPECT_FALSE(transport_->finish(Deadline::after(60.0)).has_value());
    EXPECT_TRUE(arrived(exchange, round));
    ++round;
  }
}

// More than one message of 64 MiB, in one direction only.
TEST_P(TransportTest, CutsLargeSlicesIntoMessages) {
  const auto bytes = [](int source, int target) {
    return source == 0 && target == 1 ? (std::int64_t{65} << 20U) + 3 : std::int64_t{0};
  };
  const Exchange exchange = make_exchange(0, bytes);
  transport_->begin(
      RoundId{transport_->control().next_serial(), 0}, exchange.sends, exchange.receives
  );
  EXPECT_FALSE(transport_->finish(Deadline::after(60.0)).has_value());
  EXPECT_TRUE(arrived(exchange, 0));
}

// The last rank sends nothing to rank 0, which tells everybody; others have sent large slices for
// a round that the waiting rank never enters. All recover, and old slices meet no new receive.
TEST_P(TransportTest, RecoversFromAMissingSlice) {
  const int last = num_ranks() - 1;
  for (int repetition = 0; repetition < 2; ++repetition) {
    const std::uint64_t serial = transport_->control().next_serial();
    Exchange exchange = make_exchange(0, [](int, int) { return 300000; });
    if (rank() == last) {
      std::erase_if(exchange.sends, [](const SendSlice& slice) { return slice.peer == 0; });
    }
    transport_->begin(RoundId{serial, 0}, exchange.sends, exchange.receives);
    MPI_Barrier(MPI_COMM_WORLD);  // on a busy machine a rank may come late without a fault
    const auto start = std::chrono::steady_clock::now();
    std::optional<ExchangeFault> fault =
        transport_->finish(Deadline::after(rank() == 0 ? 0.5 : 60.0));
    if (rank() == 0 && num_ranks() > 1) {
      EXPECT_TRUE(fault.has_value());
      EXPECT_EQ(fault->peer, last);
      EXPECT_FALSE(fault->announced_by_peer);
      transport_->control().announce_failure(serial);
    }
    if (rank() != 0 && !fault) {  // this round went well here: the next one finds out
      exchange = make_exchange(1, [](int, int) { return 300000; });
      transport_->begin(RoundId{serial, 1}, exchange.sends, exchange.receives);
      fault = transport_->finish(Deadline::after(60.0));
      EXPECT_TRUE(fault.has_value() && fault->announced_by_peer);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
    EXPECT_TRUE(transport_->recover(exchange.buffers, Deadline::after(60.0)));
    expect_clean_round(transport_->control().next_serial(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All,
    TransportTest,
    ::testing::ValuesIn(testing::transport_cases()),
    testing::TransportCaseName{}
);

TEST(MpiControl, AgreementsComeBackOrSayThatTheyDoNot) {
  MpiControl control{MPI_COMM_WORLD};
  std::vector<std::int64_t> words{control.rank() + 1, -control.rank()};
  EXPECT_TRUE(control.all_reduce_min(words, Deadline::after(60.0)));
  EXPECT_EQ(words, (std::vector<std::int64_t>{1, 1 - control.num_ranks()}));
  const std::vector<std::byte> mine(static_cast<std::size_t>(control.rank()), std::byte{7});
  const auto all = control.all_gather(mine, Deadline::after(60.0));
  ASSERT_EQ(all.size(), static_cast<std::size_t>(control.num_ranks()));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    EXPECT_EQ(all[rank].size(), rank);
  }
}

TEST(MpiControl, NoticesReachEverybodyAndOldOnesAreForgotten) {
  MpiControl control{MPI_COMM_WORLD};
  if (control.rank() == control.num_ranks() - 1) {
    control.announce_failure(5);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (control.rank() != control.num_ranks() - 1) {
    const Deadline deadline = Deadline::after(60.0);
    while (!control.failure_announced(5) && !deadline.expired()) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(control.failure_announced(5));
  }
  EXPECT_FALSE(control.failure_announced(6));
}

}  // namespace
}  // namespace routepack
