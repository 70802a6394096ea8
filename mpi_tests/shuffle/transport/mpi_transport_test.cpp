// Transports alone: slices between all pairs, deadlines, recovery.
#include "shuffle/transport/mpi_transport.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "shuffle/transport/transport_cases.hpp"
#include "shuffle/transport/transport_checks.hpp"

namespace routepack::shuffle {
namespace {

class TransportTest : public ::testing::TestWithParam<testing::TransportCase> {
 protected:
  std::unique_ptr<Transport> transport_ = GetParam().make();
};

TEST_P(TransportTest, CarriesSlicesOfAnySizeBetweenAllPairs) {
  testing::check_slices_of_any_size(*transport_);
}

TEST_P(TransportTest, CutsLargeSlicesIntoMessages) { testing::check_large_slice(*transport_); }

TEST_P(TransportTest, RecoversFromAMissingSlice) { testing::check_recovery(*transport_); }

INSTANTIATE_TEST_SUITE_P(
    All,
    TransportTest,
    ::testing::ValuesIn(testing::transport_cases()),
    testing::TransportCaseName{}
);

TEST(MpiControl, AgreementsComeBackOrSayThatTheyDoNot) {
  MpiControl control{MPI_COMM_WORLD};
  std::vector<std::int64_t> words{control.rank() + 1, -control.rank()};
  EXPECT_TRUE(control.all_reduce_min(words, base::Deadline::after(60.0)));
  EXPECT_EQ(words, (std::vector<std::int64_t>{1, 1 - control.num_ranks()}));
  const std::vector<std::byte> mine(static_cast<std::size_t>(control.rank()), std::byte{7});
  const auto all = control.all_gather(mine, base::Deadline::after(60.0));
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
    const base::Deadline deadline = base::Deadline::after(60.0);
    while (!control.failure_announced(5) && !deadline.expired()) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(control.failure_announced(5));
  }
  EXPECT_FALSE(control.failure_announced(6));
}

}  // namespace
}  // namespace routepack::shuffle
