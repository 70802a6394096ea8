// What a caller of the public shuffle API can get wrong, on all ranks or on one: an error on every
// rank, nothing has moved, and the transport works on.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "base/check.hpp"
#include "comm/collectives.hpp"
#include "routepack/transports.hpp"
#include "shuffle/check/closed_form_state.hpp"
#include "shuffle/placements.hpp"
#include "support/expect_error.hpp"

namespace routepack::shuffle {
namespace {

using testing::expect_error;
using testing::random_placement;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

struct Call {
  PlacementTable table;
  Placement target;
  ExpertRegistry registry;
  ShuffleOptions options;
};
using Change = std::function<void(Call&)>;

class Misuse : public ::testing::Test {
 protected:
  [[nodiscard]] bool is_last() const { return comm_.mpi_rank() + 1 == comm_.num_mpi_ranks(); }
  [[nodiscard]] Call make_call() const {
    Call call{make_placement_table(before_), after_, state_.registry(), {}};
    call.options.deadline_seconds = 20.0;
    return call;
  }
  // On all ranks, then on the last alone.
  void expect_refused(ErrorCode code, const std::string& text, const Change& change) {
    SCOPED_TRACE(text);
    for (const bool everywhere : {true, false}) {
      Call call = make_call();
      if (everywhere || is_last()) {
        change(call);
      }
      expect_error(code, text, [&] {
        (void)apply_placement(call.table, call.target, call.registry, *transport_, call.options);
      });
      EXPECT_EQ(state_.find_fault(before_), "");
    }
  }
  void expect_works(const Change& change) {
    Call call = make_call();
    change(call);
    (void)apply_placement(call.table, call.target, call.registry, *transport_, call.options);
    EXPECT_EQ(state_.find_fault(after_), "");
    state_.fill(before_);
  }
  void TearDown() override {
    expect_works([](Call&) {});
  }

  const comm::Communicator comm_{MPI_COMM_WORLD};
  const int ep_ = comm_.num_mpi_ranks();
  const StateShape shape_{2, ep_ * 2, 8, 6, ep_, 1, 3};
  const Placement before_ = identity_placement(2, shape_.num_experts, ep_);
  const Placement after_ = random_placement(2, shape_.num_experts, ep_, 5);
  ClosedFormState state_{shape_, comm_.mpi_rank(), before_};
  const TransportHandle transport_ = make_mpi_transport(MPI_COMM_WORLD);
};

TEST_F(Misuse, TimesThatNoWaitCanHave) {
  for (const double seconds : {0.0, -1.0, kNan, -kInfinity}) {
    expect_refused(ErrorCode::kUsage, "deadline_seconds is ", [seconds](Call& call) {
      call.options.deadline_seconds = seconds;
    });
  }
  for (const double seconds : {-1.0, kNan}) {
    expect_refused(ErrorCode::kUsage, "agreement_seconds is ", [seconds](Call& call) {
      call.options.agreement_seconds = seconds;
    });
  }
}

TEST_F(Misuse, TimesThatNeverCome) {
  for (const double seconds : {4.7e9, 1e10, 1e300, kInfinity}) {
    expect_works([seconds](Call& call) { call.options.deadline_seconds = seconds; });
    expect_works([seconds](Call& call) { call.options.agreement_seconds = seconds; });
  }
}

TEST_F(Misuse, RoundsAndModes) {
  for (const std::int64_t bytes : {kHuge, std::int64_t{0}, std::int64_t{-16}}) {
    expect_refused(ErrorCode::kUsage, fmt::format("round_bytes is {}", bytes), [bytes](Call& call) {
      call.options.round_bytes = bytes;
    });
  }
  expect_works([](Call& call) { call.options.round_bytes = std::int64_t{1} << 40U; });
  expect_refused(ErrorCode::kUsage, "shuffle mode 77", [](Call& call) {
    call.options.mode = static_cast<ShuffleMode>(77);
  });
}

TEST_F(Misuse, TablesAndTargetsThatContradictThemselves) {
  expect_refused(ErrorCode::kUsage, "the epochs of 0 layers", [](Call& call) {
    call.table.layer_epoch = {};
  });
  expect_refused(ErrorCode::kExpertsNotDivisible, "ep = 0", [](Call& call) { call.target.ep = 0; });
  expect_refused(ErrorCode::kExpertsNotDivisible, "ep = 0", [](Call& call) {
    call.target.ep = 0;
    call.table.placement.ep = 0;
  });
  expect_refused(ErrorCode::kTopologyMismatch, "the target", [this](Call& call) {
    call.target.ep = ep_ * 2;
  });
  expect_refused(ErrorCode::kFileMalformed, "the placement is for 0 experts", [](Call& call) {
    call.target.num_experts = 0;
  });
  expect_refused(ErrorCode::kFileMalformed, "the placement has 3 layers", [this](Call& call) {
    call.target = identity_placement(3, shape_.num_experts, ep_);
  });
}

TEST_F(Misuse, TensorsThatNoMemoryHolds) {
  static std::byte memory[64];
  const auto add = [this](Call& call, std::int64_t tensor_bytes, TensorRange range) {
    const SlotId slot{comm_.mpi_rank() * 2};
    call.registry.add(SlotTensor{MoeLayer{0}, slot, "w", tensor_bytes, Memory::kHost, {range}});
  };
  expect_refused(ErrorCode::kStateIncomplete, "fit an address space", [&](Call& call) {
    add(call, kHuge, {0, kHuge, memory});
  });
  expect_refused(ErrorCode::kStateIncomplete, "do not ascend within 64", [&](Call& call) {
    add(call, 64, {kHuge - 4, 16, memory});
  });
  expect_refused(ErrorCode::kStateIncomplete, "do not ascend within 64", [&](Call& call) {
    add(call, 64, {-8, 16, memory});
  });
  expect_refused(ErrorCode::kStateIncomplete, "at no address", [&](Call& call) {
    add(call, 64, {0, 64, nullptr});
  });
  expect_refused(ErrorCode::kStateIncomplete, "declared, but the placement has", [](Call& call) {
    call.registry.add_shared(MoeLayer{99}, "router");
  });
  expect_refused(ErrorCode::kUsage, "without a function", [](Call& call) {
    call.registry.add_derived({MoeLayer{0}, "product", {}});
  });
}

TEST_F(Misuse, ARebuildThatThrowsNoException) {
  Call call = make_call();
  call.registry.add_derived({MoeLayer{0}, "product", [] { throw 5; }});
  expect_error(ErrorCode::kTransferFailed, "an exception of unknown type", [&] {
    (void)apply_placement(call.table, after_, call.registry, *transport_, call.options);
  });
  EXPECT_EQ(state_.find_fault(after_), "");
  state_.fill(before_);
}

// The callback of one shuffle begins another with the same transport.
TEST_F(Misuse, AShuffleWithinAShuffle) {
  Call call = make_call();
  Call inner = make_call();
  call.registry.add_derived({MoeLayer{0}, "product", [&] {
                               (void)apply_placement(
                                   inner.table, after_, inner.registry, *transport_, inner.options
                               );
                             }});
  expect_error(ErrorCode::kTransferFailed, "the transport is in use", [&] {
    (void)apply_placement(call.table, after_, call.registry, *transport_, call.options);
  });
  state_.fill(before_);
}

TEST_F(Misuse, SlotsOfPlacementsThatCannotBe) {
  Placement odd = before_;
  odd.ep = 0;
  expect_error(ErrorCode::kExpertsNotDivisible, "ep = 0", [&] { (void)choose_slots(odd, odd); });
  expect_error(ErrorCode::kFileMalformed, "", [&] {
    (void)choose_slots(before_, identity_placement(2, shape_.num_experts * 2, ep_));
  });
  odd.ep = ep_ * 2;
  expect_error(ErrorCode::kTopologyMismatch, "", [&] { (void)choose_slots(before_, odd); });
  expect_error(ErrorCode::kTopologyMismatch, "", [&] { (void)count_moved_experts(before_, odd); });
  expect_error(ErrorCode::kFileMalformed, "", [&] {
    (void)count_moved_experts(before_, identity_placement(1, shape_.num_experts, ep_));
  });
  expect_error(ErrorCode::kNumberOutOfRange, "", [] { (void)identity_placement(2, -4, 1); });
}

TEST_F(Misuse, CommunicatorsThatAreNone) {
  expect_error(ErrorCode::kUsage, "MPI_COMM_NULL", [] { (void)make_mpi_transport(MPI_COMM_NULL); });
  expect_error(ErrorCode::kUsage, "MPI_COMM_NULL", [] {
    (void)make_transport(TransportKind::kAuto, MPI_COMM_NULL);
  });
  expect_error(ErrorCode::kUsage, "no kind of transport 9", [] {
    (void)make_transport(static_cast<TransportKind>(9), MPI_COMM_WORLD);
  });
  if (ep_ == 1) {
    return;
  }
  expect_error(ErrorCode::kInputDisagreement, "the kind of transport", [this] {
    (void)make_transport(is_last() ? TransportKind::kAuto : TransportKind::kMpi, MPI_COMM_WORLD);
  });
  const comm::Communicator part = comm_.split(comm_.mpi_rank() == 0 ? 0 : 1);
  MPI_Comm bridge = MPI_COMM_NULL;
  MPI_Intercomm_create(part.get(), 0, MPI_COMM_WORLD, comm_.mpi_rank() == 0 ? 1 : 0, 7, &bridge);
  expect_error(ErrorCode::kUsage, "inter-communicator", [bridge] {
    (void)make_mpi_transport(bridge);
  });
  MPI_Comm_free(&bridge);
}

}  // namespace
}  // namespace routepack::shuffle
