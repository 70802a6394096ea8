// The choice of a transport that all ranks can use; every process has fake libraries of its own.
#include "shuffle/transport/make_transport.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/communicator.hpp"
#include "shuffle/transport/fake_nccl.hpp"
#include "shuffle/transport/transport_checks.hpp"

namespace routepack::shuffle {
namespace {

using testing::FakeFabric;
using testing::FakeSettings;
using ::testing::HasSubstr;

class MakeTransport : public ::testing::Test {
 protected:
  [[nodiscard]] bool is_last() const { return comm_.mpi_rank() == comm_.num_mpi_ranks() - 1; }
  [[nodiscard]] std::string last_rank() const {
    return "rank " + std::to_string(comm_.num_mpi_ranks() - 1) + ": ";
  }
  // kAuto falls back to host memory and says why; kNccl refuses with the same words.
  void expect_obstacle(
      const DeviceLibraries& libraries,
      const std::string& why,
      std::optional<int> device = std::nullopt
  ) {
    TransportChoice choice =
        choose_transport(TransportKind::kAuto, MPI_COMM_WORLD, libraries, device);
    EXPECT_EQ(choice.name, "mpi");
    EXPECT_EQ(choice.memory, Memory::kHost);
    EXPECT_THAT(choice.why_not_nccl, HasSubstr(why));
    testing::check_clean_round(*choice.transport);
    try {
      (void)choose_transport(TransportKind::kNccl, MPI_COMM_WORLD, libraries, device);
      ADD_FAILURE() << "must fail";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
  }
  comm::Communicator comm_{MPI_COMM_WORLD};
};

TEST_F(MakeTransport, FallsBackWhenOneRankHasNoDevice) {
  FakeSettings settings;
  settings.num_devices = is_last() ? 0 : 2;
  FakeFabric fabric{settings};
  expect_obstacle(fabric.libraries(comm_.mpi_rank()), last_rank() + "no device");
}

TEST_F(MakeTransport, FallsBackWhenOneRankNamesADeviceThatIsNotThere) {
  FakeFabric fabric;
  expect_obstacle(
      fabric.libraries(comm_.mpi_rank()), last_rank() + "there is no device 1, but 1 from 0 on",
      is_last() ? 1 : 0
  );
}

TEST_F(MakeTransport, FallsBackWhenOneRankHasAnOldLibrary) {
  FakeSettings settings;
  settings.library_version = is_last() ? 22703 : 22809;
  FakeFabric fabric{settings};
  expect_obstacle(
      fabric.libraries(comm_.mpi_rank()),
      last_rank() + "compiled with the headers of NCCL 2.28.9, but the library is 2.27.3"
  );
}

TEST_F(MakeTransport, FallsBackInABuildWithoutNccl) {
  DeviceLibraries libraries;
  libraries.missing = "this build has no NCCL";
  expect_obstacle(libraries, "rank 0: this build has no NCCL");
}

TEST_F(MakeTransport, MpiAsksForNothing) {
  TransportChoice choice = choose_transport(TransportKind::kMpi, MPI_COMM_WORLD, {});
  EXPECT_EQ(choice.name, "mpi");
  EXPECT_NE(choice.transport, nullptr);
}

// A rank alone gets NCCL. Several processes have a fabric each, on which NCCL cannot connect them:
// then their device memory goes through host buffers over MPI.
TEST_F(MakeTransport, TakesNcclOrCarriesDeviceMemoryOverMpi) {
  FakeFabric fabric;
  const DeviceLibraries libraries = fabric.libraries(comm_.mpi_rank());
  if (comm_.num_mpi_ranks() == 1) {
    TransportChoice choice = choose_transport(TransportKind::kNccl, MPI_COMM_WORLD, libraries);
    EXPECT_EQ(choice.name, "nccl");
    EXPECT_EQ(choice.memory, Memory::kDevice);
    EXPECT_EQ(choice.why_not_nccl, "");
    testing::check_clean_round(*choice.transport);
    return;
  }
  TransportChoice choice =
      choose_transport(TransportKind::kAuto, MPI_COMM_WORLD, libraries, std::nullopt, 1.0);
  EXPECT_EQ(choice.name, "mpi");
  EXPECT_EQ(choice.memory, Memory::kDevice);
  EXPECT_THAT(choice.why_not_nccl, HasSubstr("NCCL init_comm"));
  testing::check_slices_of_any_size(*choice.transport);
  testing::check_recovery(*choice.transport);
}

TEST(NcclVersions, AcceptTheSameAndNewerOnesOfTheMajorVersion) {
  EXPECT_EQ(check_nccl_versions(22809, 22809), "");
  EXPECT_EQ(check_nccl_versions(22809, 22901), "");
  EXPECT_THAT(check_nccl_versions(22809, 22808), HasSubstr("2.28.9, but the library is 2.28.8"));
  EXPECT_THAT(check_nccl_versions(22809, 30000), HasSubstr("but the library is 3.0.0"));
  EXPECT_THAT(check_nccl_versions(22000, 22105), HasSubstr("2.21.5, older than 2.22.0"));
}

}  // namespace
}  // namespace routepack::shuffle
