// The NCCL transport and its kernels on a real device, which all ranks may share. Skips itself
// where a rank has none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "comm/collectives.hpp"
#include "routepack/transports.hpp"
#include "shuffle/check/closed_form_state.hpp"
#include "shuffle/check/fault_transport.hpp"
#include "shuffle/engine/engine_checks.hpp"
#include "shuffle/placements.hpp"
#include "shuffle/transport/nccl_api.hpp"
#include "shuffle/transport/transport_checks.hpp"

namespace routepack::shuffle {
namespace {

using ::testing::HasSubstr;
using testing::random_placement;

constexpr int kLayers = 3;

class NcclDevice : public ::testing::Test {
 protected:
  // NCCL refuses two ranks of one host on one device; each of these is a host of its own.
  static void SetUpTestSuite() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    setenv("NCCL_HOSTID", ("routepack-" + std::to_string(rank)).c_str(), 0);
  }
  void SetUp() override {
    const std::string obstacle = find_nccl_obstacle(load_device_libraries());
    if (comm::all_reduce_min(obstacle.empty() ? 1 : 0, comm_) == 0) {
      GTEST_SKIP() << "a rank cannot use NCCL; this one: " << obstacle;
    }
    choice_ = make_transport(TransportKind::kNccl, MPI_COMM_WORLD);
  }
  [[nodiscard]] Transport& transport() { return *choice_.transport; }
  [[nodiscard]] int num_ranks() const { return comm_.num_mpi_ranks(); }
  [[nodiscard]] StateShape shape_of(int ep) const {
    return StateShape{kLayers, ep * 3, 64, 48, ep, num_ranks() / ep, 9};
  }
  [[nodiscard]] static ShuffleOptions options(std::int64_t round_bytes) {
    ShuffleOptions options;
    options.round_bytes = round_bytes;
    options.deadline_seconds = 60.0;
    return options;
  }
  // Fails alike everywhere, changes nothing, and works afterwards. Returns the error.
  [[nodiscard]] std::string fail_then_succeed(const Fault& fault, double deadline_seconds) {
    const StateShape shape = shape_of(num_ranks());
    const Placement before = identity_placement(kLayers, shape.num_experts, shape.ep);
    const Placement after = random_placement(kLayers, shape.num_experts, shape.ep, 4);
    ClosedFormState state{shape, comm_.mpi_rank(), before, &transport().engine()};
    PlacementTable table = make_placement_table(before);
    FaultTransport faulty{transport(), fault};
    ShuffleOptions chosen = options(8192);
    chosen.deadline_seconds = deadline_seconds;
    chosen.agreement_seconds = 60.0;
    std::string text;
    try {
      (void)apply_placement(table, after, state.registry(), faulty, chosen);
      ADD_FAILURE() << "must fail";
    } catch (const ShuffleError& error) {
      text = error.what();
    }
    EXPECT_EQ(state.find_fault(before), "");
    EXPECT_EQ(table.epoch, 0);
    (void)apply_placement(table, after, state.registry(), transport(), options(8192));
    EXPECT_EQ(state.find_fault(after), "");
    return text;
  }

  comm::Communicator comm_{MPI_COMM_WORLD};
  TransportChoice choice_;
};

TEST_F(NcclDevice, KernelsPackAnySegments) { testing::check_packing(transport().engine()); }

TEST_F(NcclDevice, KernelsPackManySlices) { testing::check_many_slices(transport().engine()); }

TEST_F(NcclDevice, KernelsUnpackToAnyAlignment) { testing::check_unpacking(transport().engine()); }

TEST_F(NcclDevice, KernelsSeeEveryBitTheOrderAndTheLength) {
  testing::check_damage_is_seen(transport().engine());
}

TEST_F(NcclDevice, CarriesSlicesOfAnySize) { testing::check_slices_of_any_size(transport()); }

TEST_F(NcclDevice, CarriesLargeSlices) { testing::check_large_slice(transport()); }

TEST_F(NcclDevice, RecoversFromAMissingSlice) { testing::check_recovery(transport()); }

TEST_F(NcclDevice, MovesEveryByte) {
  for (int ep = 1; ep <= num_ranks(); ++ep) {
    if (num_ranks() % ep != 0) {
      continue;
    }
    const StateShape shape = shape_of(ep);
    Placement current = identity_placement(kLayers, shape.num_experts, ep);
    ClosedFormState state{shape, comm_.mpi_rank(), current, &transport().engine()};
    std::uint64_t seed = 1;
    for (const std::int64_t round_bytes : {4096, 1 << 20}) {
      for (const ShuffleMode mode : {ShuffleMode::kFullShadow, ShuffleMode::kPerLayer}) {
        const Placement target = random_placement(kLayers, shape.num_experts, ep, ++seed);
        ShuffleOptions chosen = options(round_bytes);
        chosen.mode = mode;
        const ShuffleReport report =
            apply_placement(current, target, state.registry(), transport(), chosen);
        EXPECT_EQ(state.find_fault(target), "");
        EXPECT_LE(report.high_water_bytes, report.memory_bound_bytes);
        current = target;
      }
    }
  }
}

TEST_F(NcclDevice, FindsAFlippedBit) {
  if (num_ranks() == 1) {
    GTEST_SKIP() << "nothing travels";
  }
  Fault fault;
  fault.kind = FaultKind::kFlip;
  fault.rank = 1;
  fault.choice = 1234567;
  EXPECT_THAT(fail_then_succeed(fault, 60.0), HasSubstr("damaged slice"));
}

TEST_F(NcclDevice, DeadlineAbortsAndRebuilds) {
  if (num_ranks() == 1) {
    GTEST_SKIP() << "nothing travels";
  }
  Fault fault;
  fault.kind = FaultKind::kDelay;
  fault.rank = num_ranks() - 1;
  fault.delay_seconds = 6.0;
  const std::string late = "no slice from rank " + std::to_string(fault.rank);
  EXPECT_THAT(fail_then_succeed(fault, 3.0), HasSubstr(late));
}

}  // namespace
}  // namespace routepack::shuffle
