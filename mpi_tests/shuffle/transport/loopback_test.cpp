// The transaction at rank counts and with a rank that stops, which need no processes.
#include "shuffle/transport/loopback.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>

#include "shuffle/check/closed_form_state.hpp"
#include "shuffle/check/fault_transport.hpp"
#include "shuffle/placements.hpp"

namespace routepack::shuffle {
namespace {

using testing::LoopbackTransport;
using testing::random_placement;
using testing::run_ranks;

constexpr int kLayers = 3;

StateShape shape_of(int ep, int edp) { return StateShape{kLayers, ep * 3, 6, 5, ep, edp, 9}; }

ShuffleOptions options_of(std::int64_t round_bytes, ShuffleMode mode) {
  ShuffleOptions options;
  options.round_bytes = round_bytes;
  options.mode = mode;
  options.deadline_seconds = 20.0;
  return options;
}

struct Ranks {
  int ep;
  int edp;
};

void PrintTo(const Ranks& ranks, std::ostream* out) {
  *out << "EP " << ranks.ep << " x EDP " << ranks.edp;
}

class ShuffleOf : public ::testing::TestWithParam<std::tuple<Ranks, std::int64_t, ShuffleMode>> {};

std::string name_of_case(const ::testing::TestParamInfo<ShuffleOf::ParamType>& made) {
  const auto& [size, round_bytes, mode] = made.param;
  return "Ep" + std::to_string(size.ep) + "Edp" + std::to_string(size.edp) + "RoundsOf" +
         std::to_string(round_bytes) + (mode == ShuffleMode::kPerLayer ? "PerLayer" : "AtOnce");
}

TEST_P(ShuffleOf, MovesEverything) {
  const auto& [size, round_bytes, mode] = GetParam();
  const ShuffleOptions shuffle_options = options_of(round_bytes, mode);
  const StateShape shape = shape_of(size.ep, size.edp);
  const Placement before = random_placement(kLayers, shape.num_experts, size.ep, 1);
  const Placement after = random_placement(kLayers, shape.num_experts, size.ep, 2);
  std::atomic<std::int64_t> sent = 0;
  std::atomic<std::int64_t> received = 0;
  run_ranks(size.ep * size.edp, [&](LoopbackTransport& transport) {
    ClosedFormState state{shape, transport.control().rank(), before};
    const ShuffleReport report =
        apply_placement(before, after, state.registry(), transport, shuffle_options);
    EXPECT_EQ(state.find_fault(after), "");
    EXPECT_EQ(report.placement, after);
    EXPECT_LE(report.high_water_bytes, report.memory_bound_bytes);
    sent += report.sent_bytes;
    received += report.received_bytes;
  });
  EXPECT_EQ(sent, received);
  EXPECT_EQ(sent > 0, size.ep > 1) << "EDP ranks of one EP rank have all they need";
}

INSTANTIATE_TEST_SUITE_P(
    Shuffle,
    ShuffleOf,
    ::testing::Combine(
        ::testing::Values(
            Ranks{1, 1}, Ranks{1, 3}, Ranks{2, 2}, Ranks{5, 1}, Ranks{3, 4}, Ranks{4, 3}
        ),
        ::testing::Values(std::int64_t{16}, std::int64_t{1024}, std::int64_t{1} << 20),
        ::testing::Values(ShuffleMode::kFullShadow, ShuffleMode::kPerLayer)
    ),
    name_of_case
);

// One rank keeps silent in round j and later: nobody waits twice its deadline, all name it, no
// byte has changed, and the next shuffle succeeds on the recovered transport.
class ShuffleStopped : public ::testing::TestWithParam<int> {};

TEST_P(ShuffleStopped, Survives) {
  const StateShape shape = shape_of(3, 2);
  const Placement before = identity_placement(kLayers, shape.num_experts, 3);
  const Placement after = random_placement(kLayers, shape.num_experts, 3, 4);
  std::set<std::string> errors;
  std::mutex mutex;
  run_ranks(6, [&](LoopbackTransport& transport) {
    Fault fault;
    fault.kind = FaultKind::kDelay;
    fault.rank = 4;
    fault.round = GetParam();
    fault.delay_seconds = 0.45;
    FaultTransport faulty{transport, fault};
    ClosedFormState state{shape, transport.control().rank(), before};
    ShuffleOptions options = options_of(256, ShuffleMode::kFullShadow);
    options.deadline_seconds = 0.3;
    options.agreement_seconds = 30.0;
    PlacementTable table = make_placement_table(before);
    const auto start = std::chrono::steady_clock::now();
    try {
      (void)apply_placement(table, after, state.registry(), faulty, options);
      ADD_FAILURE() << "must fail";
    } catch (const ShuffleError& error) {
      const std::lock_guard lock{mutex};
      errors.insert(error.what());
      EXPECT_TRUE(error.report().committed_layers.empty());
    }
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    EXPECT_LT(spent.count(), 5.0);  // 0.6 s on an idle machine
    EXPECT_EQ(state.find_fault(before), "");
    EXPECT_EQ(table.placement, before);
    EXPECT_EQ(table.epoch, 0);
    (void)apply_placement(
        table, after, state.registry(), transport, options_of(256, ShuffleMode::kFullShadow)
    );
    EXPECT_EQ(state.find_fault(after), "");
    EXPECT_EQ(table.epoch, 1);
  });
  EXPECT_EQ(errors.size(), 1U) << "the same error on all ranks";
  EXPECT_NE(errors.begin()->find("rank 4"), std::string::npos) << *errors.begin();
}

INSTANTIATE_TEST_SUITE_P(
    InRound, ShuffleStopped, ::testing::Values(0, 1, 4), ::testing::PrintToStringParamName()
);

// A rank that never comes: every other one gives up, and none has changed a byte.
TEST(Shuffle, EndsWhenARankIsGone) {
  const StateShape shape = shape_of(3, 1);
  const Placement before = identity_placement(kLayers, shape.num_experts, 3);
  const Placement after = random_placement(kLayers, shape.num_experts, 3, 4);
  std::atomic<int> lost = 0;
  run_ranks(3, [&](LoopbackTransport& transport) {
    if (transport.control().rank() == 1) {
      return;
    }
    ClosedFormState state{shape, transport.control().rank(), before};
    ShuffleOptions options = options_of(256, ShuffleMode::kFullShadow);
    options.agreement_seconds = 0.2;
    options.on_lost_contact = [&](const std::string&) { ++lost; };
    EXPECT_THROW((void)apply_placement(before, after, state.registry(), transport, options), Error);
    EXPECT_EQ(state.find_fault(before), "");
  });
  EXPECT_EQ(lost, 2);
}

}  // namespace
}  // namespace routepack::shuffle
