// apply_placement without faults, on every transport.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "comm/collectives.hpp"
#include "routepack/transports.hpp"
#include "shuffle/check/closed_form_state.hpp"
#include "shuffle/placements.hpp"
#include "shuffle/transport/transport_cases.hpp"

namespace routepack::shuffle {
namespace {

using ::testing::HasSubstr;
using testing::placement_of_slots;
using testing::random_placement;

class ShuffleTest : public ::testing::TestWithParam<testing::TransportCase> {
 protected:
  [[nodiscard]] int rank() const { return comm_.mpi_rank(); }
  [[nodiscard]] int num_ranks() const { return comm_.num_mpi_ranks(); }
  // ep x edp that use all ranks: 4 ranks are 4x1 and 2x2 and 1x4.
  [[nodiscard]] std::vector<int> ep_sizes() const {
    std::vector<int> sizes;
    for (int ep = 1; ep <= num_ranks(); ++ep) {
      if (num_ranks() % ep == 0) {
        sizes.push_back(ep);
      }
    }
    return sizes;
  }
  [[nodiscard]] StateShape shape_of(int ep) const {
    return StateShape{2, ep * 3, 8, 6, ep, num_ranks() / ep, 3};
  }
  [[nodiscard]] static ShuffleOptions options(std::int64_t round_bytes = 1000) {
    ShuffleOptions options;
    options.round_bytes = round_bytes;
    return options;
  }

  comm::Communicator comm_{MPI_COMM_WORLD};
  std::unique_ptr<Transport> transport_ = GetParam().make();
};

TEST_P(ShuffleTest, MovesEveryByteForRandomPlacements) {
  for (const int ep : ep_sizes()) {
    SCOPED_TRACE("ep " + std::to_string(ep));
    const StateShape shape = shape_of(ep);
    Placement current = random_placement(2, shape.num_experts, ep, 1);
    ClosedFormState state{shape, rank(), current};
    PlacementTable table = make_placement_table(current);
    std::int64_t epoch = 0;
    std::uint64_t seed = 10;
    for (const std::int64_t round_bytes : {16, 1000, 1 << 20}) {
      for (const ShuffleMode mode : {ShuffleMode::kFullShadow, ShuffleMode::kPerLayer}) {
        SCOPED_TRACE(
            std::to_string(round_bytes) + " bytes a round, seed " + std::to_string(++seed)
        );
        const Placement target = random_placement(2, shape.num_experts, ep, seed);
        ShuffleOptions chosen = options(round_bytes);
        chosen.mode = mode;
        const ShuffleReport report =
            apply_placement(table, target, state.registry(), *transport_, chosen);
        EXPECT_EQ(state.find_fault(target), "");
        EXPECT_EQ(table.placement, target);
        epoch += target != current ? 1 : 0;
        EXPECT_EQ(table.epoch, epoch);
        std::size_t num_changed = 0;
        for (const MoeLayer layer : ids<MoeLayer>(2)) {
          num_changed += current.layers[layer] != target.layers[layer] ? 1U : 0U;
        }
        EXPECT_EQ(report.committed_layers.size(), num_changed);
        EXPECT_LE(report.high_water_bytes, report.memory_bound_bytes);
        const std::int64_t sent = comm::all_reduce_sum(report.sent_bytes, comm_);
        EXPECT_EQ(sent, comm::all_reduce_sum(report.received_bytes, comm_));
        EXPECT_GE(sent, report.planned_bytes);  // padding
        EXPECT_EQ(
            report.planned_bytes + report.planned_here_bytes,
            report.moved_experts * bytes_per_expert(shape) +
                // weights are replicated over EDP
                report.moved_experts * (shape.edp - 1) * 2 * 3 * shape.hidden * shape.ffn
        );
        current = target;
      }
    }
  }
}

TEST_P(ShuffleTest, ThereAndBackGivesTheOriginalBitsAndKeepsPointers) {
  const StateShape shape = shape_of(num_ranks());
  const Placement before = identity_placement(2, shape.num_experts, num_ranks());
  const Placement after = random_placement(2, shape.num_experts, num_ranks(), 5);
  ClosedFormState state{shape, rank(), before};
  const std::vector<SlotTensor> tensors = state.registry().tensors();
  std::vector<std::vector<std::byte>> original;
  const auto read = [&] {
    std::vector<std::vector<std::byte>> values;
    for (const SlotTensor& tensor : tensors) {  // through the addresses of before the shuffle
      for (const TensorRange& range : tensor.ranges) {
        values.emplace_back(range.address, range.address + range.bytes);
      }
    }
    return values;
  };
  original = read();
  (void)apply_placement(before, after, state.registry(), *transport_, options());
  EXPECT_NE(read(), original);
  (void)apply_placement(after, before, state.registry(), *transport_, options());
  EXPECT_EQ(read(), original);
}

TEST_P(ShuffleTest, NothingToMoveMovesNothing) {
  const StateShape shape = shape_of(num_ranks());
  const Placement before = identity_placement(2, shape.num_experts, num_ranks());
  ClosedFormState state{shape, rank(), before};
  PlacementTable table = make_placement_table(before);
  for (const ShuffleMode mode : {ShuffleMode::kFullShadow, ShuffleMode::kPerLayer}) {
    SCOPED_TRACE(mode == ShuffleMode::kPerLayer ? "per layer" : "at once");
    ShuffleOptions chosen = options();
    chosen.mode = mode;
    const ShuffleReport report =
        apply_placement(table, before, state.registry(), *transport_, chosen);
    EXPECT_EQ(report.rounds, 0);
    EXPECT_EQ(report.sent_bytes + report.received_bytes + report.planned_here_bytes, 0);
    EXPECT_EQ(table.epoch, 0);
  }
}

// Every expert of layer 0 moves on by one EP rank, a cycle through all ranks; layer 1 stays.
TEST_P(ShuffleTest, AFullCycleIsNoSpecialCase) {
  const StateShape shape = shape_of(num_ranks());
  const Placement before = identity_placement(2, shape.num_experts, num_ranks());
  Placement after = before;
  const int step = num_ranks() > 1 ? 3 : 1;  // an EP rank has 3 slots
  for (const ExpertId expert : ids<ExpertId>(shape.num_experts)) {
    after.layers[MoeLayer{0}][expert] = SlotId{(expert.value() + step) % shape.num_experts};
  }
  ClosedFormState state{shape, rank(), before};
  PlacementTable table = make_placement_table(before);
  const ShuffleReport report =
      apply_placement(table, after, state.registry(), *transport_, options(64));
  EXPECT_EQ(state.find_fault(after), "");
  EXPECT_EQ(report.committed_layers, std::vector<MoeLayer>{MoeLayer{0}});
  EXPECT_EQ(table.layer_epoch[MoeLayer{0}], 1);
  EXPECT_EQ(table.layer_epoch[MoeLayer{1}], 0);
}

// Tensors of 4 experts on up to 2 ranks: element of tensor t, expert e = 1000 t + e. Case t01.
class StateFollows {
 public:
  static constexpr std::array<const char*, 9> kTensors = {
      "fc1.weight",     "fc2.weight",  "fc1.master",     "fc2.master", "fc1.exp_avg",
      "fc1.exp_avg_sq", "fc2.exp_avg", "fc2.exp_avg_sq", "fc1.scale"};

  StateFollows(int rank, int num_holders, const char* left_out) {
    for (std::size_t slot = 0; slot < 4; ++slot) {
      if (static_cast<int>(slot) * num_holders / 4 != rank) {
        continue;
      }
      for (std::size_t t = 0; t < kTensors.size(); ++t) {
        values_[t][slot].fill(static_cast<int>(1000 * t + slot));
        if (slot != 3 || kTensors[t] != std::string_view(left_out)) {
          registry_.add_whole(
              MoeLayer{0}, SlotId{slot}, kTensors[t],
              reinterpret_cast<std::byte*>(values_[t][slot].data()), sizeof(values_[t][slot])
          );
        }
      }
    }
  }
  [[nodiscard]] const ExpertRegistry& registry() const { return registry_; }
  void expect(const std::vector<int>& slot_expert) const {
    for (const SlotTensor& tensor : registry_.tensors()) {
      const auto t = static_cast<std::size_t>(
          std::find(kTensors.begin(), kTensors.end(), tensor.kind) - kTensors.begin()
      );
      const std::size_t slot = tensor.slot.offset();
      for (const int value : values_[t][slot]) {
        EXPECT_EQ(value, static_cast<int>(1000 * t) + slot_expert[slot]);
      }
    }
  }

 private:
  std::array<std::array<std::array<int, 5>, 4>, 9> values_{};
  ExpertRegistry registry_;
};

TEST_P(ShuffleTest, EveryTensorWithAnExpertAxisFollows) {
  const int holders = std::min(num_ranks(), 2);  // further ranks hold no experts at all
  const StateFollows state{rank(), holders, ""};
  const Placement before = placement_of_slots(2, {{0, 1, 2, 3}});
  const Placement after = placement_of_slots(2, {{0, 3, 2, 1}});
  const ShuffleReport report =
      apply_placement(before, after, state.registry(), *transport_, options());
  EXPECT_EQ(report.moved_experts, 2);
  state.expect({0, 3, 2, 1});
}

TEST_P(ShuffleTest, AMissingTensorIsNamedAndNothingMoves) {
  for (const char* left_out : StateFollows::kTensors) {
    SCOPED_TRACE(left_out);
    const StateFollows state{rank(), std::min(num_ranks(), 2), left_out};
    const Placement before = placement_of_slots(2, {{0, 1, 2, 3}});
    std::string text;
    try {
      (void)apply_placement(
          before, placement_of_slots(2, {{0, 3, 2, 1}}), state.registry(), *transport_, options()
      );
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kStateIncomplete);
      text = error.what();
    }
    EXPECT_THAT(text, HasSubstr(left_out));
    EXPECT_THAT(text, HasSubstr("slot 3"));
    state.expect({0, 1, 2, 3});
  }
}

// A 3-cycle between ranks at layer 0, layer 1 unchanged. Case t02.
TEST_P(ShuffleTest, AThreeCycleDoesNotAlias) {
  const int ep = 3;
  const StateShape shape{2, 6, 4, 3, ep, 1, 8};
  const Placement before = placement_of_slots(ep, {{0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5}});
  const Placement after = placement_of_slots(ep, {{2, 1, 4, 3, 0, 5}, {0, 1, 2, 3, 4, 5}});
  ExpertRegistry nothing;
  std::optional<ClosedFormState> state;
  const int copies = num_ranks() < 3 ? 1 : 3;
  std::vector<ClosedFormState> all_ranks;  // with fewer than 3 ranks, rank 0 holds everything
  ExpertRegistry merged;
  if (copies == 3 && rank() < 3) {
    state.emplace(shape, rank(), before);
  } else if (copies == 1 && rank() == 0) {
    for (int ep_rank = 0; ep_rank < ep; ++ep_rank) {
      all_ranks.emplace_back(shape, ep_rank, before);
      for (const SlotTensor& tensor : all_ranks.back().registry().tensors()) {
        merged.add(tensor);
      }
    }
  }
  const ShuffleReport report =
      apply_placement(before, after, state ? state->registry() : merged, *transport_, options(48));
  EXPECT_EQ(report.moved_experts, 3);
  EXPECT_EQ(report.committed_layers, std::vector<MoeLayer>{MoeLayer{0}});
  EXPECT_EQ(state ? state->find_fault(after) : "", "");
  for (const ClosedFormState& part : all_ranks) {
    EXPECT_EQ(part.find_fault(after), "");
  }
}

// Routers, replay and checkpoints speak logical ids; slots are looked up once. Case t03.
TEST_P(ShuffleTest, LogicalIdsStayOutside) {
  const Placement placement = placement_of_slots(2, {{3, 1, 0, 2}});
  const LayerPlacement& slots = placement.layers[MoeLayer{0}];
  const auto physical = [&](int expert) { return slots[ExpertId{expert}].value(); };
  EXPECT_EQ((std::array{physical(0), physical(3)}), (std::array{2, 0}));
  EXPECT_EQ((std::array{physical(1), physical(2)}), (std::array{1, 3}));
  // A checkpoint in logical order, exported after the shuffle: expert e from its slot.
  const StateFollows state{rank(), 1, ""};
  (void)apply_placement(
      identity_placement(1, 4, 2), placement, state.registry(), *transport_, options()
  );
  state.expect({3, 1, 0, 2});
  EXPECT_EQ(
      (std::array{physical(0), physical(1), physical(2), physical(3)}), (std::array{2, 1, 3, 0})
  );
}

// The last rank owns no MoE layer and enters every collective all the same. Case t04.
TEST_P(ShuffleTest, ARankWithoutMoeLayersTakesPart) {
  const int ep = std::max(num_ranks() - 1, 1);
  const StateShape shape{2, ep * 2, 8, 6, ep, 1, 3};
  const Placement before = identity_placement(2, shape.num_experts, ep);
  const Placement after = random_placement(2, shape.num_experts, ep, 6);
  std::optional<ClosedFormState> state;
  if (rank() < ep) {
    state.emplace(shape, rank(), before);
  }
  const ExpertRegistry nothing;
  for (const ShuffleMode mode : {ShuffleMode::kFullShadow, ShuffleMode::kPerLayer}) {
    SCOPED_TRACE(mode == ShuffleMode::kPerLayer ? "per layer" : "at once");
    ShuffleOptions chosen = options(100);
    chosen.mode = mode;
    const bool back = mode == ShuffleMode::kPerLayer;
    const ShuffleReport report = apply_placement(
        back ? after : before, back ? before : after, state ? state->registry() : nothing,
        *transport_, chosen
    );
    EXPECT_EQ(state ? state->find_fault(back ? before : after) : "", "");
    EXPECT_EQ(report.rounds, comm::all_reduce_max(report.rounds, comm_));
    EXPECT_EQ(state ? 0 : report.sent_bytes + report.received_bytes, 0);
  }
}

TEST_P(ShuffleTest, ADifferentPlacementOnOneRankStopsAll) {
  if (num_ranks() == 1) {
    return;  // nobody to disagree with
  }
  const StateShape shape = shape_of(num_ranks());
  const Placement before = identity_placement(2, shape.num_experts, num_ranks());
  for (const int odd_one : {0, num_ranks() - 1}) {
    SCOPED_TRACE("rank " + std::to_string(odd_one));
    ClosedFormState state{shape, rank(), before};
    Placement target = random_placement(2, shape.num_experts, num_ranks(), 5);
    if (rank() == odd_one) {
      std::swap(target.layers[MoeLayer{1}][ExpertId{0}], target.layers[MoeLayer{1}][ExpertId{1}]);
    }
    auto code = ErrorCode::kUsage;
    try {
      (void)apply_placement(before, target, state.registry(), *transport_, options());
    } catch (const Error& error) {
      code = error.code();
    }
    EXPECT_EQ(code, ErrorCode::kPlanDisagreement);
    EXPECT_EQ(state.find_fault(before), "");
  }
}

TEST_P(ShuffleTest, OptionsThatDifferAreADisagreementAndBadOnesAnError) {
  const StateShape shape = shape_of(num_ranks());
  const Placement before = identity_placement(2, shape.num_experts, num_ranks());
  ClosedFormState state{shape, rank(), before};
  const auto code_of = [&](const ShuffleOptions& chosen) {
    try {
      (void)apply_placement(before, before, state.registry(), *transport_, chosen);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kTransferFailed;
  };
  EXPECT_EQ(
      code_of(options(1000 + rank())),
      num_ranks() > 1 ? ErrorCode::kPlanDisagreement : ErrorCode::kTransferFailed
  );
  EXPECT_EQ(code_of(options(rank() == 0 ? 15 : 1000)), ErrorCode::kUsage);
}

TEST_P(ShuffleTest, DerivedTensorsAreRebuiltAfterTheCommitOfTheirLayer) {
  const StateShape shape = shape_of(num_ranks());
  const Placement before = identity_placement(2, shape.num_experts, num_ranks());
  Placement after = random_placement(2, shape.num_experts, num_ranks(), 5);
  after.layers[MoeLayer{1}] = before.layers[MoeLayer{1}];
  ClosedFormState state{shape, rank(), before};
  ExpertRegistry registry = state.registry();
  std::array<int, 2> rebuilt{};
  for (const int layer : {0, 1}) {
    registry.add_derived(DerivedTensor{MoeLayer{layer}, "product", [&, layer] {
                                         ++rebuilt[static_cast<std::size_t>(layer)];
                                         EXPECT_EQ(state.find_fault(after), "");
                                       }});
  }
  (void)apply_placement(before, after, registry, *transport_, options());
  EXPECT_EQ(rebuilt, (std::array{1, 0}));
}

TEST_P(ShuffleTest, ADerivedTensorThatCannotBeRebuiltIsReportedByAll) {
  const StateShape shape = shape_of(num_ranks());
  const Placement before = identity_placement(2, shape.num_experts, num_ranks());
  const Placement after = random_placement(2, shape.num_experts, num_ranks(), 5);
  ClosedFormState state{shape, rank(), before};
  ExpertRegistry registry = state.registry();
  if (rank() == num_ranks() - 1) {
    registry.add_derived(DerivedTensor{
        MoeLayer{1}, "product", [] { throw std::runtime_error("no scale"); }});
  }
  PlacementTable table = make_placement_table(before);
  std::string text;
  try {
    (void)apply_placement(table, after, registry, *transport_, options());
  } catch (const ShuffleError& error) {
    text = error.what();
    EXPECT_EQ(error.report().committed_layers.size(), 2U);
  }
  EXPECT_THAT(text, HasSubstr("experts have moved"));
  EXPECT_THAT(text, HasSubstr("no scale"));
  EXPECT_EQ(table.placement, after);
  EXPECT_EQ(state.find_fault(after), "");
}

INSTANTIATE_TEST_SUITE_P(
    All, ShuffleTest, ::testing::ValuesIn(testing::transport_cases()), testing::TransportCaseName{}
);

TEST(PublicApi, MakesAnMpiTransport) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const TransportHandle transport = make_mpi_transport(MPI_COMM_WORLD);
  const StateShape shape{1, ranks * 2, 4, 4, ranks, 1, 1};
  const Placement before = identity_placement(1, shape.num_experts, ranks);
  const Placement after = random_placement(1, shape.num_experts, ranks, 2);
  ClosedFormState state{shape, rank, before};
  (void)apply_placement(before, after, state.registry(), *transport, ShuffleOptions{});
  EXPECT_EQ(state.find_fault(after), "");
}

TEST(PublicApi, DeviceTensorsNeedATransportThatReachesThem) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::array<std::byte, 64> memory{};
  ExpertRegistry registry;
  for (int slot = 0; rank == 0 && slot < 2; ++slot) {
    registry.add_whole(
        MoeLayer{0}, SlotId{slot}, "w", memory.data() + 32 * slot, 32, Memory::kDevice
    );
  }
  const TransportHandle transport = make_mpi_transport(MPI_COMM_WORLD);
  const Placement before = identity_placement(1, 2, 1);
  try {
    (void)apply_placement(before, before, registry, *transport, ShuffleOptions{});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
  }
}

}  // namespace
}  // namespace routepack::shuffle
