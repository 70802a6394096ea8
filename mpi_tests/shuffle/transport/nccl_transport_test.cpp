// The NCCL transport on the fake libraries.
#include "shuffle/transport/nccl_transport.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>

#include "shuffle/check/closed_form_state.hpp"
#include "shuffle/check/fault_transport.hpp"
#include "shuffle/placements.hpp"
#include "shuffle/transport/fake_ranks.hpp"
#include "shuffle/transport/transport_checks.hpp"

namespace routepack::shuffle {
namespace {

using testing::FakeFabric;
using testing::FakeSettings;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::random_placement;
using testing::run_nccl_ranks;

constexpr int kLayers = 3;

// Every fabric ends clean: nothing undefined, no cycle, everything given back.
void expect_clean(FakeFabric& fabric) {
  EXPECT_THAT(fabric.violations(), IsEmpty());
  EXPECT_THAT(fabric.deadlocks(), IsEmpty());
  EXPECT_EQ(fabric.num_allocations(), 0U);
  EXPECT_EQ(fabric.num_comms(), 0U);
}

struct Ranks {
  int num_ranks;
  int polls_in_progress;
};

void PrintTo(const Ranks& ranks, std::ostream* out) {
  *out << ranks.num_ranks << " ranks, " << ranks.polls_in_progress << " polls";
}

std::string name_of_case(const ::testing::TestParamInfo<Ranks>& made) {
  return std::to_string(made.param.num_ranks) + "RanksAfter" +
         std::to_string(made.param.polls_in_progress) + "Polls";
}

class SlicesBetween : public ::testing::TestWithParam<Ranks> {};

TEST_P(SlicesBetween, AreCarriedWhateverTheirSize) {
  const auto [num_ranks, polls] = GetParam();
  FakeSettings settings;
  settings.polls_in_progress = polls;
  settings.max_kernel_ops = 3;
  settings.seed = static_cast<std::uint64_t>(num_ranks);
  FakeFabric fabric{settings};
  run_nccl_ranks(fabric, num_ranks, [](NcclTransport& transport) {
    testing::check_slices_of_any_size(transport);
  });
  expect_clean(fabric);
}

INSTANTIATE_TEST_SUITE_P(
    NcclTransport,
    SlicesBetween,
    ::testing::Values(
        Ranks{1, 0},
        Ranks{1, 5},
        Ranks{2, 0},
        Ranks{2, 5},
        Ranks{3, 0},
        Ranks{3, 5},
        Ranks{4, 0},
        Ranks{4, 5},
        Ranks{7, 0},
        Ranks{7, 5}
    ),
    name_of_case
);

TEST(NcclTransport, PutsARoundIntoOneGroup) {
  FakeFabric fabric;
  run_nccl_ranks(fabric, 3, [](NcclTransport& transport) {
    testing::check_clean_round(transport);
  });
  EXPECT_EQ(fabric.num_groups(), 3) << "one a rank";
  expect_clean(fabric);
}

class MissingSlice : public ::testing::TestWithParam<Ranks> {};

// Ranks that go on to the next round and the one that still waits then wait for each other, until
// the deadline.
TEST_P(MissingSlice, IsRecoveredFrom) {
  const auto [num_ranks, polls] = GetParam();
  FakeSettings settings;
  settings.deadlocks_hang = true;
  settings.polls_in_progress = polls;
  FakeFabric fabric{settings};
  run_nccl_ranks(fabric, num_ranks, [](NcclTransport& transport) {
    testing::check_recovery(transport);
  });
  expect_clean(fabric);
}

INSTANTIATE_TEST_SUITE_P(
    NcclTransport,
    MissingSlice,
    ::testing::Values(Ranks{1, 0}, Ranks{1, 4}, Ranks{2, 0}, Ranks{2, 4}, Ranks{4, 0}, Ranks{4, 4}),
    name_of_case
);

struct Shape {
  int ep;
  int edp;
  [[nodiscard]] int num_ranks() const { return ep * edp; }
  [[nodiscard]] StateShape state() const { return {kLayers, ep * 3, 6, 5, ep, edp, 9}; }
  [[nodiscard]] Placement before() const { return identity_placement(kLayers, ep * 3, ep); }
  [[nodiscard]] Placement after() const { return random_placement(kLayers, ep * 3, ep, 4); }
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << "EP " << shape.ep << " x EDP " << shape.edp;
}

ShuffleOptions options_of(std::int64_t round_bytes) {
  ShuffleOptions options;
  options.round_bytes = round_bytes;
  options.deadline_seconds = 30.0;
  return options;
}

class NcclShuffleOf : public ::testing::TestWithParam<std::tuple<Shape, std::int64_t>> {};

std::string name_of_shuffle(const ::testing::TestParamInfo<NcclShuffleOf::ParamType>& made) {
  const auto& [shape, round_bytes] = made.param;
  return "Ep" + std::to_string(shape.ep) + "Edp" + std::to_string(shape.edp) + "RoundsOf" +
         std::to_string(round_bytes);
}

TEST_P(NcclShuffleOf, MovesEveryByte) {
  const Shape& shape = std::get<0>(GetParam());
  const std::int64_t round_bytes = std::get<1>(GetParam());
  FakeSettings settings;
  settings.polls_in_progress = 2;
  FakeFabric fabric{settings};
  run_nccl_ranks(fabric, shape.num_ranks(), [&](NcclTransport& transport) {
    // In memory of the device, so that nothing can work by chance on the host.
    ClosedFormState state{
        shape.state(), transport.control().rank(), shape.before(), &transport.engine()};
    for (const ShuffleMode mode : {ShuffleMode::kFullShadow, ShuffleMode::kPerLayer}) {
      ShuffleOptions options = options_of(round_bytes);
      options.mode = mode;
      const bool there = mode == ShuffleMode::kFullShadow;
      const Placement target = there ? shape.after() : shape.before();
      const ShuffleReport report = apply_placement(
          there ? shape.before() : shape.after(), target, state.registry(), transport, options
      );
      EXPECT_EQ(state.find_fault(target), "");
      EXPECT_LE(report.high_water_bytes, report.memory_bound_bytes);
    }
  });
  expect_clean(fabric);
}

INSTANTIATE_TEST_SUITE_P(
    NcclShuffle,
    NcclShuffleOf,
    ::testing::Combine(
        ::testing::Values(Shape{1, 1}, Shape{1, 3}, Shape{2, 2}, Shape{4, 1}, Shape{3, 2}),
        ::testing::Values(std::int64_t{64}, std::int64_t{1} << 20)
    ),
    name_of_shuffle
);

// Runs a shuffle that must fail alike on all ranks and change nothing, then one that succeeds on
// the rebuilt communicator. Returns the error.
std::string fail_then_succeed(
    FakeFabric& fabric, const Shape& shape, const Fault* fault, double deadline_seconds
) {
  std::set<std::string> errors;
  std::mutex mutex;
  run_nccl_ranks(fabric, shape.num_ranks(), [&](NcclTransport& transport) {
    std::optional<FaultTransport> faulty;
    if (fault != nullptr) {
      faulty.emplace(transport, *fault);
    }
    Transport& used = faulty ? static_cast<Transport&>(*faulty) : transport;
    ClosedFormState state{
        shape.state(), transport.control().rank(), shape.before(), &transport.engine()};
    PlacementTable table = make_placement_table(shape.before());
    ShuffleOptions options = options_of(256);
    options.deadline_seconds = deadline_seconds;
    options.agreement_seconds = 40.0;
    const auto start = std::chrono::steady_clock::now();
    try {
      (void)apply_placement(table, shape.after(), state.registry(), used, options);
      ADD_FAILURE() << "must fail";
    } catch (const ShuffleError& error) {
      const std::lock_guard lock{mutex};
      errors.insert(error.what());
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
    EXPECT_EQ(state.find_fault(shape.before()), "");
    EXPECT_EQ(table.epoch, 0);
    (void)apply_placement(table, shape.after(), state.registry(), transport, options_of(256));
    EXPECT_EQ(state.find_fault(shape.after()), "");
    EXPECT_EQ(table.epoch, 1);
  });
  EXPECT_EQ(errors.size(), 1U) << "the same error on all ranks";
  return errors.empty() ? std::string{} : *errors.begin();
}

class NcclPolls : public ::testing::TestWithParam<int> {};

TEST_P(NcclPolls, DeadlineAbortsRebuildsAndNamesTheRankThatIsLate) {
  FakeSettings settings;
  settings.polls_in_progress = GetParam();
  FakeFabric fabric{settings};
  Fault fault;
  fault.kind = FaultKind::kDelay;
  fault.rank = 2;
  fault.round = 1;
  fault.delay_seconds = 0.8;
  const std::string error = fail_then_succeed(fabric, Shape{3, 1}, &fault, 0.4);
  EXPECT_THAT(error, HasSubstr("no slice from rank 2 within"));
  EXPECT_THAT(error, HasSubstr("tensor"));
  expect_clean(fabric);
}

INSTANTIATE_TEST_SUITE_P(
    NcclShuffle, NcclPolls, ::testing::Values(0, 3), ::testing::PrintToStringParamName()
);

// NCCL matches by order alone: the slice of a later round comes in the place of the one that was
// left out. Its stamp gives it away, or its size.
TEST(NcclShuffle, NoticesASliceOfAnotherRound) {
  FakeFabric fabric;
  Fault fault;
  fault.kind = FaultKind::kDrop;
  fault.rank = 2;
  fault.round = 1;
  const std::string error = fail_then_succeed(fabric, Shape{3, 1}, &fault, 1.0);
  EXPECT_THAT(error, HasSubstr("rank 2"));
  EXPECT_THAT(fabric.deadlocks(), IsEmpty());
  EXPECT_EQ(fabric.num_comms(), 0U);
}

TEST(NcclShuffle, FindsAFlippedBitInDeviceMemory) {
  FakeFabric fabric;
  Fault fault;
  fault.kind = FaultKind::kFlip;
  fault.rank = 1;
  fault.round = 2;
  fault.choice = 1234567;
  const std::string error = fail_then_succeed(fabric, Shape{3, 1}, &fault, 30.0);
  EXPECT_THAT(error, HasSubstr("rank 1, round 2: damaged slice from rank"));
  expect_clean(fabric);
}

class AsynchronousError : public ::testing::TestWithParam<int> {};

TEST_P(AsynchronousError, IsRolledBack) {
  FakeSettings settings;
  settings.failing_rank = 1;
  settings.failing_op = GetParam();
  settings.seed = static_cast<std::uint64_t>(GetParam());
  FakeFabric fabric{settings};
  const std::string error = fail_then_succeed(fabric, Shape{3, 1}, nullptr, 30.0);
  EXPECT_THAT(error, HasSubstr("rank 1, round"));
  EXPECT_THAT(error, HasSubstr("a link went down"));
  expect_clean(fabric);
}

INSTANTIATE_TEST_SUITE_P(
    AtOperation,
    AsynchronousError,
    ::testing::Values(0, 1, 5, 17),
    ::testing::PrintToStringParamName()
);

// Plans of different sizes cannot get past the agreement, so the transport is fed by hand.
TEST(NcclTransport, SizesThatDifferAreAFaultOnBothSides) {
  FakeFabric fabric;
  run_nccl_ranks(fabric, 2, [](NcclTransport& transport) {
    const int rank = transport.control().rank();
    const std::shared_ptr<std::byte> buffer = transport.engine().allocate(128);
    std::vector<SendSlice> sends;
    std::vector<RecvSlice> receives;
    if (rank == 0) {
      sends.push_back(SendSlice{1, buffer.get(), 64});
    } else {
      receives.push_back(RecvSlice{0, buffer.get(), 80});
    }
    transport.begin(RoundId{transport.control().next_serial(), 0}, sends, receives);
    const std::optional<ExchangeFault> fault = transport.finish(base::Deadline::after(30.0));
    EXPECT_TRUE(fault.has_value());
    if (fault) {
      EXPECT_THAT(fault->what, HasSubstr("sends 64 bytes to rank 1, which expects 80"));
      EXPECT_EQ(fault->peer, rank == 0 ? -1 : 0);
    }
    EXPECT_TRUE(transport.recover({buffer}, base::Deadline::after(30.0)));
    testing::check_clean_round(transport);
  });
  EXPECT_THAT(fabric.violations(), ::testing::SizeIs(1));
}

// A slice for a rank that is none: the group is ended all the same, and finish() tells.
TEST(NcclTransport, AGroupThatCannotBePostedIsAFault) {
  FakeFabric fabric;
  run_nccl_ranks(fabric, 2, [](NcclTransport& transport) {
    const std::shared_ptr<std::byte> buffer = transport.engine().allocate(64);
    const SendSlice slice{transport.control().num_ranks(), buffer.get(), 64};
    transport.begin(RoundId{transport.control().next_serial(), 0}, {&slice, 1}, {});
    const std::optional<ExchangeFault> fault = transport.finish(base::Deadline::after(30.0));
    EXPECT_TRUE(fault.has_value() && fault->from_library);
    EXPECT_TRUE(transport.recover({buffer}, base::Deadline::after(30.0)));
    testing::check_clean_round(transport);
  });
  expect_clean(fabric);
}

// A device that has failed cannot be recovered on: recover() says so instead of going on.
TEST(NcclTransport, ABrokenDeviceIsNoRecovery) {
  FakeFabric fabric;
  run_nccl_ranks(fabric, 1, [&](NcclTransport& transport) {
    fabric.break_device(0);
    EXPECT_FALSE(transport.recover({}, base::Deadline::after(1.0)));
    EXPECT_THROW(transport.engine().copy({}), Error);
  });
}

// All ranks get the error of the one that has it, and nobody keeps a communicator.
TEST(NcclTransport, ConnectsOnAllRanksOrOnNone) {
  FakeFabric fabric;
  FakeSettings old;
  old.num_devices = 0;
  FakeFabric without_device{old};
  testing::LoopbackHub hub{3};
  std::atomic<int> num_refused = 0;
  testing::run_threads(3, [&](int rank) {
    const DeviceLibraries libraries = (rank == 1 ? without_device : fabric).libraries(rank);
    try {
      NcclTransport transport{
          std::make_unique<testing::LoopbackControl>(hub, rank), libraries.nccl, libraries.device,
          testing::quick_options()};
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("rank 1: CUDA set_device"));
      ++num_refused;
    }
  });
  EXPECT_EQ(num_refused, 3);
  expect_clean(fabric);
}

// The fabric of rank 2 knows no id of rank 0: its communicator cannot come up. Those that waited
// for it in vain are not to blame.
TEST(NcclTransport, AbortsWhenARankCannotConnect) {
  FakeFabric fabric;
  FakeFabric other;
  testing::LoopbackHub hub{3};
  testing::run_threads(3, [&](int rank) {
    const DeviceLibraries libraries = (rank == 2 ? other : fabric).libraries(rank);
    NcclOptions options = testing::quick_options();
    options.setup_seconds = 1.0;
    try {
      NcclTransport transport{
          std::make_unique<testing::LoopbackControl>(hub, rank), libraries.nccl, libraries.device,
          options};
      ADD_FAILURE() << "must fail";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("rank 2: NCCL init_comm: fake NCCL error 4"));
    }
  });
  expect_clean(fabric);
  expect_clean(other);
}

TEST(NcclTransport, RefusesLibrariesOfDifferentVersions) {
  FakeFabric fabric;
  FakeSettings newer;
  newer.library_version = 22900;
  FakeFabric other{newer};
  testing::LoopbackHub hub{2};
  testing::run_threads(2, [&](int rank) {
    const DeviceLibraries libraries = (rank == 1 ? other : fabric).libraries(rank);
    EXPECT_THROW(
        NcclTransport(
            std::make_unique<testing::LoopbackControl>(hub, rank), libraries.nccl, libraries.device,
            testing::quick_options()
        ),
        Error
    );
  });
  expect_clean(fabric);
}

}  // namespace
}  // namespace routepack::shuffle
