#include "shuffle/transport/transport_checks.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>

namespace routepack::testing {
namespace {

// Slices between a rank and all others, filled and read through the transport's engine.
class Exchange {
 public:
  // Slices of `bytes(source, target)` (0: none).
  Exchange(
      Transport& transport, std::int64_t round, const std::function<std::int64_t(int, int)>& bytes
  )
      : transport_(transport), rank_(transport.control().rank()), round_(round) {
    for (int peer = 0; peer < transport.control().num_ranks(); ++peer) {
      if (const std::int64_t count = bytes(rank_, peer); peer != rank_ && count > 0) {
        std::byte* buffer = allocate(count);
        const std::vector<std::byte> values = values_of(rank_, peer, count);
        transport_.engine().from_host(buffer, values.data(), count);
        sends.push_back(shuffle::SendSlice{peer, buffer, count});
      }
      if (const std::int64_t count = bytes(peer, rank_); peer != rank_ && count > 0) {
        receives.push_back(shuffle::RecvSlice{peer, allocate(count), count});
      }
    }
  }
  [[nodiscard]] bool arrived() const {
    for (const shuffle::RecvSlice& slice : receives) {
      std::vector<std::byte> values(static_cast<std::size_t>(slice.bytes));
      transport_.engine().to_host(values.data(), slice.data, slice.bytes);
      if (values != values_of(slice.peer, rank_, slice.bytes)) {
        return false;
      }
    }
    return true;
  }
  void begin(std::uint64_t serial) {
    transport_.begin(shuffle::RoundId{serial, round_}, sends, receives);
  }
  [[nodiscard]] const std::vector<std::shared_ptr<std::byte>>& buffers() const { return buffers_; }

  std::vector<shuffle::SendSlice> sends;
  std::vector<shuffle::RecvSlice> receives;

 private:
  [[nodiscard]] std::byte* allocate(std::int64_t bytes) {
    buffers_.push_back(transport_.engine().allocate(bytes));
    return buffers_.back().get();
  }
  [[nodiscard]] std::vector<std::byte> values_of(int source, int target, std::int64_t count) const {
    std::vector<std::byte> values(static_cast<std::size_t>(count));
    for (std::int64_t at = 0; at < count; ++at) {
      values[static_cast<std::size_t>(at)] =
          static_cast<std::byte>((source * 31 + target * 17 + round_ * 7 + at * 3) & 0xff);
    }
    return values;
  }

  Transport& transport_;
  int rank_;
  std::int64_t round_;
  std::vector<std::shared_ptr<std::byte>> buffers_;
};

}  // namespace

void check_slices_of_any_size(Transport& transport) {
  const std::uint64_t serial = transport.control().next_serial();
  std::int64_t round = 0;
  for (const std::int64_t base : {1, 15, 4096, 100003}) {
    Exchange exchange{transport, round, [base, round](int source, int target) {
                        return (source + target + round) % 3 == 0 ? std::int64_t{0}
                                                                  : base + source * 5 + target;
                      }};
    exchange.begin(serial);
    EXPECT_FALSE(transport.finish(base::Deadline::after(60.0)).has_value());
    EXPECT_TRUE(exchange.arrived());
    ++round;
  }
}

void check_large_slice(Transport& transport) {
  Exchange exchange{transport, 0, [](int source, int target) {
                      return source == 0 && target == 1 ? (std::int64_t{65} << 20U) + 3
                                                        : std::int64_t{0};
                    }};
  exchange.begin(transport.control().next_serial());
  EXPECT_FALSE(transport.finish(base::Deadline::after(60.0)).has_value());
  EXPECT_TRUE(exchange.arrived());
}

void check_clean_round(Transport& transport) {
  Exchange exchange{transport, 0, [](int, int) { return 3001; }};
  exchange.begin(transport.control().next_serial());
  EXPECT_FALSE(transport.finish(base::Deadline::after(60.0)).has_value());
  EXPECT_TRUE(exchange.arrived());
}

// The last rank sends nothing to rank 0, which tells everybody; others have sent large slices for
// a round that the waiting rank never enters. (Transports that match by order alone would take the
// last rank's next slice for the one left out, so it stays silent.)
void check_recovery(Transport& transport) {
  const int rank = transport.control().rank();
  const int last = transport.control().num_ranks() - 1;
  const auto large = [](int, int) { return 300000; };
  for (int repetition = 0; repetition < 2; ++repetition) {
    const std::uint64_t serial = transport.control().next_serial();
    Exchange first{transport, 0, large};
    Exchange second{transport, 1, large};
    if (rank == last) {
      for (Exchange* exchange : {&first, &second}) {
        std::erase_if(exchange->sends, [](const shuffle::SendSlice& slice) {
          return slice.peer == 0;
        });
      }
    }
    first.begin(serial);
    std::vector<std::int64_t> here{1};  // on a busy machine a rank may come late without a fault
    EXPECT_TRUE(transport.control().all_reduce_min(here, base::Deadline::after(60.0)));
    const auto start = std::chrono::steady_clock::now();
    std::optional<shuffle::ExchangeFault> fault =
        transport.finish(base::Deadline::after(rank == 0 ? 0.5 : 60.0));
    if (rank == 0 && last > 0) {
      EXPECT_TRUE(fault.has_value());
      if (fault) {
        EXPECT_EQ(fault->peer, last);
        EXPECT_FALSE(fault->announced_by_peer);
      }
      transport.control().announce_failure(serial);
    }
    if (rank != 0 && !fault) {  // this round went well here: the next one finds out
      second.begin(serial);
      fault = transport.finish(base::Deadline::after(60.0));
      EXPECT_TRUE(fault.has_value() && fault->announced_by_peer);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
    std::vector<std::shared_ptr<std::byte>> buffers = first.buffers();
    buffers.insert(buffers.end(), second.buffers().begin(), second.buffers().end());
    EXPECT_TRUE(transport.recover(std::move(buffers), base::Deadline::after(60.0)));
    check_clean_round(transport);
  }
}

}  // namespace routepack::testing
