// The device engine on the fake device, whose tiles run on the host; the same checks run on a real
// device in nccl_device_test.
#include "shuffle/engine/device_engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>

#include "shuffle/engine/engine_checks.hpp"
#include "shuffle/transport/fake_nccl.hpp"

namespace routepack::shuffle {
namespace {

using testing::FakeFabric;
using testing::FakeSettings;
using ::testing::HasSubstr;

class DeviceEngineTest : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(fabric_.violations(), ::testing::IsEmpty()); }
  FakeFabric fabric_;
  DeviceEngine engine_{fabric_.libraries(0).device, 0, 20.0};
};

TEST_F(DeviceEngineTest, PacksAnySegments) { testing::check_packing(engine_); }

TEST_F(DeviceEngineTest, PacksMoreThanItsScratchHolds) { testing::check_many_slices(engine_); }

TEST_F(DeviceEngineTest, UnpacksToAnyAlignment) { testing::check_unpacking(engine_); }

TEST_F(DeviceEngineTest, ChecksumSeesEveryBitTheOrderAndTheLength) {
  testing::check_damage_is_seen(engine_);
}

TEST(DeviceEngine, WaitsForTheDeviceButNotForEver) {
  FakeFabric fabric;
  DeviceEngine engine{fabric.libraries(0).device, 0, 0.2};
  const std::shared_ptr<std::byte> buffer = engine.allocate(64);
  std::byte value{3};
  engine.from_host(buffer.get(), &value, 1);
  fabric.hold(true);
  try {
    engine.to_host(&value, buffer.get(), 1);
    ADD_FAILURE() << "must fail";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kTransferFailed);
    EXPECT_THAT(error.what(), HasSubstr("device 0 did not finish its copies within 0.2 s"));
  }
}

TEST(DeviceEngine, ReportsDevicesThatFailOrAreFull) {
  FakeSettings settings;
  settings.max_device_bytes = 1 << 20;
  settings.reaches_host = false;
  FakeFabric fabric{settings};
  {
    DeviceEngine engine{fabric.libraries(0).device, 0, 5.0};
    EXPECT_TRUE(engine.reaches(Memory::kDevice));
    EXPECT_FALSE(engine.reaches(Memory::kHost));
    EXPECT_EQ(engine.allocate(0), nullptr);
    EXPECT_THROW((void)engine.allocate((1 << 20) + 1), std::bad_alloc);
    fabric.break_device(0);
    std::byte value{};
    EXPECT_THROW(engine.to_host(&value, &value, 1), Error);
  }
  EXPECT_EQ(fabric.num_allocations(), 0U);
}

}  // namespace
}  // namespace routepack::shuffle
