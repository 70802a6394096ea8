// The real NCCL and CUDA runtime libraries, as far as they go without a device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include "comm/collectives.hpp"
#include "shuffle/transport/make_transport.hpp"
#include "shuffle/transport/mpi_control.hpp"
#include "shuffle/transport/nccl_transport.hpp"
#include "shuffle/transport/transport_checks.hpp"

namespace routepack::shuffle {
namespace {

using ::testing::HasSubstr;

class RealNccl : public ::testing::Test {
 protected:
  [[nodiscard]] bool any_rank_lacks_a_device() const {
    const DeviceValue<int> devices = libraries_.device->num_devices();
    const bool has_one = devices.result == DeviceResult::kSuccess && devices.value > 0;
    return comm::all_reduce_min(has_one ? 1 : 0, comm_) == 0;
  }
  DeviceLibraries libraries_ = load_device_libraries();
  NcclApi& nccl_ = *libraries_.nccl;
  DeviceApi& device_ = *libraries_.device;
  comm::Communicator comm_{MPI_COMM_WORLD};
};

TEST_F(RealNccl, LibraryAndHeadersMayWorkTogether) {
  const NcclValue<int> version = nccl_.library_version();
  EXPECT_EQ(version.result, NcclResult::kSuccess);
  EXPECT_EQ(check_nccl_versions(nccl_.header_version(), version.value), "");
}

TEST_F(RealNccl, MakesUniqueIds) {
  const NcclValue<NcclUniqueId> first = nccl_.make_unique_id();
  const NcclValue<NcclUniqueId> second = nccl_.make_unique_id();
  EXPECT_EQ(first.result, NcclResult::kSuccess);
  EXPECT_EQ(second.result, NcclResult::kSuccess);
  EXPECT_NE(first.value.bytes, second.value.bytes);
}

TEST_F(RealNccl, CodesComeBackWithTheirText) {
  EXPECT_EQ(nccl_.end_group(), NcclResult::kInvalidUsage) << "no group is open";
  EXPECT_EQ(nccl_.start_group(), NcclResult::kSuccess);
  std::byte value{};
  EXPECT_EQ(nccl_.send(&value, 1, 0, nullptr, nullptr), NcclResult::kInvalidArgument);
  EXPECT_EQ(nccl_.receive(&value, 1, 0, nullptr, nullptr), NcclResult::kInvalidArgument);
  EXPECT_EQ(nccl_.end_group(), NcclResult::kInvalidArgument) << "what went wrong within it";
  EXPECT_EQ(nccl_.async_error(nullptr).result, NcclResult::kInvalidArgument);
  EXPECT_EQ(nccl_.abort(nullptr), NcclResult::kSuccess);
  EXPECT_EQ(nccl_.destroy(nullptr), NcclResult::kSuccess);
  EXPECT_EQ(nccl_.finalize(nullptr), NcclResult::kSuccess);
  EXPECT_THAT(nccl_.error_text(NcclResult::kInvalidArgument), HasSubstr("invalid argument"));
  EXPECT_THAT(nccl_.error_text(NcclResult::kRemoteError), HasSubstr("remote process"));
  EXPECT_THAT(device_.error_text(DeviceResult::kOutOfMemory), HasSubstr("out of memory"));
  EXPECT_THAT(device_.error_text(DeviceResult::kNotReady), HasSubstr("not ready"));
  try {
    RP_NCCL(nccl_, send(&value, 1, 0, nullptr, nullptr));
    ADD_FAILURE() << "must fail";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kTransferFailed);
    EXPECT_THAT(error.what(), HasSubstr("NCCL send(&value, 1, 0, nullptr, nullptr): invalid arg"));
  }
}

TEST_F(RealNccl, WithoutADeviceEveryCallFailsAndNoneHangs) {
  if (!any_rank_lacks_a_device()) {
    GTEST_SKIP() << "there is a device";
  }
  EXPECT_THAT(find_nccl_obstacle(libraries_), HasSubstr("device"));
  const NcclValue<NcclUniqueId> id = nccl_.make_unique_id();
  const NcclValue<NcclComm> comm = nccl_.init_comm(1, id.value, 0, 4);
  EXPECT_EQ(comm.result, NcclResult::kUnhandledCudaError);
  EXPECT_EQ(comm.value, nullptr);
  EXPECT_NE(device_.allocate(64).result, DeviceResult::kSuccess);
  try {
    NcclTransport transport{
        std::make_unique<MpiControl>(MPI_COMM_WORLD), libraries_.nccl, libraries_.device, {}};
    ADD_FAILURE() << "must fail";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kTransferFailed);
    EXPECT_THAT(error.what(), HasSubstr("rank 0: CUDA set_device"));
  }
}

TEST_F(RealNccl, FallsBackToMpiOnAllRanks) {
  if (!any_rank_lacks_a_device()) {
    GTEST_SKIP() << "there is a device";
  }
  TransportChoice choice = make_transport(TransportKind::kAuto, MPI_COMM_WORLD);
  EXPECT_EQ(choice.name, "mpi");
  EXPECT_EQ(choice.memory, Memory::kHost);
  EXPECT_THAT(choice.why_not_nccl, HasSubstr("device"));
  testing::check_slices_of_any_size(*choice.transport);
  try {
    (void)make_transport(TransportKind::kNccl, MPI_COMM_WORLD);
    ADD_FAILURE() << "must fail";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("device"));
  }
}

}  // namespace
}  // namespace routepack::shuffle
