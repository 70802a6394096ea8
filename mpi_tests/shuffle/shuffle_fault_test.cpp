// Faults of every kind before the commit: every byte as it was, on every rank, and the transport
// good for the next shuffle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <new>
#include <string>

#include "comm/collectives.hpp"
#include "shuffle/check/closed_form_state.hpp"
#include "shuffle/check/fault_transport.hpp"
#include "shuffle/engine/forwarding_engine.hpp"
#include "shuffle/placements.hpp"
#include "shuffle/transport/mpi_transport.hpp"
#include "shuffle/transport/transport_cases.hpp"

namespace routepack::shuffle {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::random_placement;

constexpr int kLayers = 3;

class ShuffleFaultTest : public ::testing::TestWithParam<testing::TransportCase> {
 protected:
  [[nodiscard]] int rank() const { return comm_.mpi_rank(); }
  [[nodiscard]] int num_ranks() const { return comm_.num_mpi_ranks(); }

  struct Attempt {
    std::string error;    // empty: it went through
    bool struck = false;  // on any rank
    PlacementTable table;
    ShuffleReport report;
  };
  // Deadlines of a round differ between kinds of fault; agreements always have time.
  Attempt attempt(
      const Fault& fault,
      const Placement& before,
      const Placement& after,
      const ClosedFormState& state,
      ShuffleMode mode,
      std::int64_t round_bytes
  ) {
    ShuffleOptions options;
    options.mode = mode;
    options.round_bytes = round_bytes;
    options.deadline_seconds = fault.kind == FaultKind::kFlip ? 60.0 : 0.5;
    options.agreement_seconds = 60.0;
    FaultTransport faulty{*transport_, fault};
    Attempt result;
    result.table = make_placement_table(before);
    try {
      result.report = apply_placement(result.table, after, state.registry(), faulty, options);
    } catch (const ShuffleError& error) {
      result.error = error.what();
      result.report = error.report();
      EXPECT_EQ(error.code(), ErrorCode::kTransferFailed);
    }
    result.struck = comm::all_reduce_max(faulty.has_struck() ? 1 : 0, comm_) != 0;
    return result;
  }
  void shuffle(const Placement& before, const Placement& after, const ClosedFormState& state) {
    (void)apply_placement(before, after, state.registry(), *transport_, ShuffleOptions{});
  }

  comm::Communicator comm_{MPI_COMM_WORLD};
  std::unique_ptr<Transport> transport_ = GetParam().make();
  StateShape shape_{kLayers, num_ranks() * 3, 8, 6, num_ranks(), 1, 3};
  Placement before_ = identity_placement(kLayers, shape_.num_experts, num_ranks());
  Placement after_ = random_placement(kLayers, shape_.num_experts, num_ranks(), 5);
};

TEST_P(ShuffleFaultTest, ADamagedSliceInTheFirstOrLastRoundLeavesEveryByte) {
  if (num_ranks() == 1) {
    return;  // nothing travels
  }
  ClosedFormState state{shape_, rank(), before_};
  ShuffleOptions options;
  options.round_bytes = 512;
  const std::int64_t num_rounds =
      apply_placement(before_, after_, state.registry(), *transport_, options).rounds;
  EXPECT_GT(num_rounds, 2);
  for (const std::int64_t round : {std::int64_t{0}, num_rounds - 1}) {
    SCOPED_TRACE("round " + std::to_string(round));
    int num_struck = 0;
    for (int victim = 0; victim < num_ranks(); ++victim) {  // not all receive in the last round
      SCOPED_TRACE("victim " + std::to_string(victim));
      state.fill(before_);
      Fault fault;
      fault.rank = victim;
      fault.round = round;
      fault.choice = 12345;
      const Attempt result = attempt(fault, before_, after_, state, ShuffleMode::kFullShadow, 512);
      EXPECT_EQ(result.struck, !result.error.empty());
      if (result.struck) {
        ++num_struck;
        EXPECT_THAT(
            result.error,
            AllOf(
                HasSubstr("rank " + std::to_string(victim) + ", round"), HasSubstr("damaged slice"),
                HasSubstr("layer "), HasSubstr("tensor "), HasSubstr("of expert ")
            )
        );
      }
      EXPECT_EQ(state.find_fault(result.struck ? before_ : after_), "");
      EXPECT_EQ(result.table.placement, result.struck ? before_ : after_);
      EXPECT_EQ(result.table.epoch, result.struck ? 0 : 1);
    }
    EXPECT_GE(num_struck, 1);
  }
  state.fill(before_);
  shuffle(before_, after_, state);
  EXPECT_EQ(state.find_fault(after_), "");
}

TEST_P(ShuffleFaultTest, AMissingOrLateSliceEndsAtTheDeadline) {
  if (num_ranks() == 1) {
    return;
  }
  ClosedFormState state{shape_, rank(), before_};
  for (const FaultKind kind : {FaultKind::kDrop, FaultKind::kDelay}) {
    SCOPED_TRACE(kind == FaultKind::kDrop ? "drop" : "delay");
    Fault fault;
    fault.kind = kind;
    fault.round = 1;
    fault.delay_seconds = 0.8;
    fault.choice = 1;
    const double start = MPI_Wtime();
    const Attempt result = attempt(fault, before_, after_, state, ShuffleMode::kFullShadow, 512);
    EXPECT_LT(MPI_Wtime() - start, 20.0);  // 0.8 s on an idle machine
    EXPECT_THAT(
        result.error,
        AllOf(
            AnyOf(HasSubstr("no slice from rank 0"), HasSubstr("rank 0 did not take its slice")),
            HasSubstr("layer "), HasSubstr("tensor ")
        )
    );
    EXPECT_EQ(state.find_fault(before_), "");
  }
  shuffle(before_, after_, state);
  EXPECT_EQ(state.find_fault(after_), "");
}

// Per layer: a fault in the second of three layers. The first is at the new placement on all
// ranks, the others at the old one; table, report and error say so; a second try ends the work.
TEST_P(ShuffleFaultTest, PerLayerEachLayerIsWhollyOldOrWhollyNew) {
  if (num_ranks() == 1) {
    return;
  }
  for (const FaultKind kind : {FaultKind::kFlip, FaultKind::kDrop}) {
    SCOPED_TRACE(kind == FaultKind::kDrop ? "drop" : "flip");
    ClosedFormState state{shape_, rank(), before_};
    Fault fault;
    fault.kind = kind;
    fault.rank = num_ranks() - 1;
    fault.transaction = 1;
    fault.choice = 77;
    Attempt result = attempt(fault, before_, after_, state, ShuffleMode::kPerLayer, 512);
    EXPECT_TRUE(result.struck);
    const std::vector<MoeLayer>& committed = result.report.committed_layers;
    Placement mixed = before_;
    for (const MoeLayer layer : committed) {
      mixed.layers[layer] = after_.layers[layer];
    }
    EXPECT_FALSE(result.error.empty());
    EXPECT_EQ(committed, std::vector<MoeLayer>{MoeLayer{0}});
    EXPECT_THAT(result.error, HasSubstr("layers at the new placement: 0"));
    EXPECT_EQ(state.find_fault(mixed), "");
    EXPECT_EQ(result.table.placement, mixed);
    EXPECT_EQ(result.report.placement, mixed);
    EXPECT_EQ(result.table.epoch, 1);
    (void)apply_placement(result.table, after_, state.registry(), *transport_, ShuffleOptions{});
    EXPECT_EQ(state.find_fault(after_), "");
    EXPECT_EQ(result.table.epoch, 2);
    EXPECT_EQ(result.table.layer_epoch[MoeLayer{0}], 1);
    EXPECT_EQ(result.table.layer_epoch[MoeLayer{2}], 2);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All,
    ShuffleFaultTest,
    ::testing::ValuesIn(testing::transport_cases()),
    testing::TransportCaseName{}
);

// The host engine with a limited number of buffers.
class ScarceEngine : public testing::ForwardingEngine {
 public:
  explicit ScarceEngine(int num_buffers) : num_buffers_(num_buffers) {}
  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::int64_t bytes) override {
    if (bytes > 0 && num_buffers_-- <= 0) {
      throw std::bad_alloc();
    }
    return testing::ForwardingEngine::allocate(bytes);
  }

 private:
  int num_buffers_;
};

class ARankWithoutMemory : public ::testing::TestWithParam<ShuffleMode> {};

// One rank has no memory for its buffers, at once or in the second layer of a per-layer shuffle.
TEST_P(ARankWithoutMemory, StopsAllBeforeAByteOfTheTransactionMoves) {
  const comm::Communicator comm{MPI_COMM_WORLD};
  const int ranks = comm.num_mpi_ranks();
  const StateShape shape{kLayers, ranks * 3, 8, 6, ranks, 1, 3};
  const Placement before = identity_placement(kLayers, shape.num_experts, ranks);
  const Placement after = random_placement(kLayers, shape.num_experts, ranks, 5);
  const ShuffleMode mode = GetParam();
  const bool per_layer = mode == ShuffleMode::kPerLayer;
  const int buffers_of_layer = ranks > 1 ? 2 : 1;  // to send from and to receive in
  const int enough = 1000;
  MpiTransport transport{
      MPI_COMM_WORLD, std::make_shared<ScarceEngine>(
                          comm.mpi_rank() != ranks - 1 ? enough
                          : per_layer                  ? buffers_of_layer
                                                       : 0
                      )};
  ClosedFormState state{shape, comm.mpi_rank(), before};
  PlacementTable table = make_placement_table(before);
  ShuffleOptions options;
  options.mode = mode;
  std::string text;
  std::size_t num_committed = 9;
  try {
    (void)apply_placement(table, after, state.registry(), transport, options);
  } catch (const ShuffleError& error) {
    text = error.what();
    num_committed = error.report().committed_layers.size();
  }
  EXPECT_THAT(text, HasSubstr("rank " + std::to_string(ranks - 1) + " has no memory"));
  EXPECT_EQ(num_committed, per_layer ? 1U : 0U);
  EXPECT_EQ(table.placement.layers[MoeLayer{1}], before.layers[MoeLayer{1}]);
  EXPECT_EQ(state.find_fault(table.placement), "");
}

INSTANTIATE_TEST_SUITE_P(
    Modes,
    ARankWithoutMemory,
    ::testing::Values(ShuffleMode::kFullShadow, ShuffleMode::kPerLayer),
    [](const auto& mode) {
      return std::string(mode.param == ShuffleMode::kPerLayer ? "PerLayer" : "AtOnce");
    }
);

// 200 runs with a random fault in a random round of a random placement, mode and round size; the
// state goes on from run to run. No hang, no wrong byte, and whatever was agreed is what lies
// there.
TEST(RandomFaults, TwoHundredRunsWithoutAHangOrAWrongByte) {
  const comm::Communicator comm{MPI_COMM_WORLD};
  const int ranks = comm.num_mpi_ranks();
  const std::unique_ptr<Transport> transport = testing::transport_cases().front().make();
  const int edp = ranks % 2 == 0 && ranks > 2 ? 2 : 1;
  const StateShape shape{kLayers, ranks / edp * 3, 8, 6, ranks / edp, edp, 21};
  Placement current = identity_placement(kLayers, shape.num_experts, shape.ep);
  ClosedFormState state{shape, comm.mpi_rank(), current};
  int num_struck = 0;
  int num_failed = 0;
  for (std::uint32_t run = 0; run < 200; ++run) {
    const random::RandomBits draw = random::Stream{77, random::Purpose::kTests, 1}.at(run, 0);
    const random::RandomBits more = random::Stream{77, random::Purpose::kTests, 2}.at(run, 0);
    const Placement target = random_placement(kLayers, shape.num_experts, shape.ep, 1000 + run);
    Fault fault;
    const std::uint32_t kind = draw.below(0, 10);  // deadlines cost time: most faults are flips
    fault.kind = kind == 0 ? FaultKind::kDelay : kind == 1 ? FaultKind::kDrop : FaultKind::kFlip;
    fault.rank = static_cast<int>(draw.below(1, static_cast<std::uint32_t>(ranks)));
    fault.round = draw.below(2, 6);
    fault.choice = draw.word(3);
    fault.delay_seconds = 0.2;
    ShuffleOptions options;
    options.mode = more.below(0, 2) == 0 ? ShuffleMode::kFullShadow : ShuffleMode::kPerLayer;
    options.round_bytes = std::array{16 * 20, 512, 4096, 1 << 20}[more.below(1, 4)];
    options.deadline_seconds = fault.kind == FaultKind::kFlip ? 60.0 : 0.1;
    options.agreement_seconds = 60.0;
    FaultTransport faulty{*transport, fault};
    PlacementTable table = make_placement_table(current);
    bool failed = false;
    try {
      (void)apply_placement(table, target, state.registry(), faulty, options);
    } catch (const ShuffleError&) {
      failed = true;
    }
    SCOPED_TRACE("run " + std::to_string(run));
    const bool struck = comm::all_reduce_max(faulty.has_struck() ? 1 : 0, comm) != 0;
    EXPECT_EQ(state.find_fault(table.placement), "");
    EXPECT_EQ(
        comm::all_reduce_max(failed ? 1 : 0, comm), comm::all_reduce_min(failed ? 1 : 0, comm)
    );
    if (fault.kind != FaultKind::kDelay) {  // a late rank may yet be in time
      EXPECT_TRUE(failed || !struck) << "a fault went unseen";
    }
    if (!failed) {
      EXPECT_EQ(table.placement, target);
    } else if (options.mode == ShuffleMode::kFullShadow) {
      EXPECT_EQ(table.placement, current);
    }
    num_struck += struck ? 1 : 0;
    num_failed += failed ? 1 : 0;
    current = table.placement;
  }
  EXPECT_GE(num_struck, ranks > 1 ? 100 : 0);
  EXPECT_GE(num_failed, ranks > 1 ? 100 : 0);
}

}  // namespace
}  // namespace routepack::shuffle
