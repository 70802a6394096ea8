#include "shuffle/plan/state_layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace routepack::shuffle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::array<std::byte, 4096> memory;

// Layer 0 has 4 experts on 2 ranks: "w" whole on the owner, "m" of 10 bytes cut 7 | 3 over both.
std::vector<ExpertRegistry> two_ranks() {
  std::vector<ExpertRegistry> ranks(2);
  std::byte* next = memory.data();
  for (int slot = 0; slot < 4; ++slot) {
    const auto owner = static_cast<std::size_t>(slot / 2);
    ranks[owner].add_whole(MoeLayer{0}, SlotId{slot}, "w", next, 20);
    next += 20;
    for (std::size_t rank = 0; rank < 2; ++rank) {
      const TensorRange range = rank == 0 ? TensorRange{0, 7, next} : TensorRange{7, 3, next};
      ranks[rank].add(SlotTensor{MoeLayer{0}, SlotId{slot}, "m", 10, Memory::kHost, {range}});
      next += 10;
    }
  }
  return ranks;
}

StateLayout put_together(const std::vector<ExpertRegistry>& ranks) {
  std::vector<std::vector<std::byte>> encoded;
  for (const ExpertRegistry& registry : ranks) {
    validate_addresses(registry);
    encoded.push_back(encode_registry(registry));
  }
  return make_state_layout({encoded.begin(), encoded.end()}, 1, 4);
}

std::string fault_of(const std::vector<ExpertRegistry>& ranks) {
  try {
    (void)put_together(ranks);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kStateIncomplete);
    return error.what();
  }
  return {};
}

// The same ranks without, or with a changed, tensor.
template <class Change>
std::vector<ExpertRegistry> changed(const Change& change) {
  std::vector<ExpertRegistry> result(2);
  const std::vector<ExpertRegistry> ranks = two_ranks();
  for (std::size_t rank = 0; rank < 2; ++rank) {
    for (SlotTensor tensor : ranks[rank].tensors()) {
      if (change(static_cast<int>(rank), tensor)) {
        result[rank].add(tensor);
      }
    }
  }
  return result;
}

TEST(StateLayout, PutsTheRanksTogether) {
  const StateLayout layout = put_together(two_ranks());
  EXPECT_EQ(layout.kinds.values(), (std::vector<std::string>{"m", "w"}));
  EXPECT_EQ(layout.bytes_of(MoeLayer{0}, KindId{0}), 10);
  EXPECT_EQ(layout.bytes_of(MoeLayer{0}, KindId{1}), 20);
  const auto m = layout.owners(MoeLayer{0}, KindId{0}, SlotId{2});
  EXPECT_EQ(std::vector(m.begin(), m.end()), (std::vector<OwnedRange>{{0, 0, 7}, {1, 7, 10}}));
  const auto w = layout.owners(MoeLayer{0}, KindId{1}, SlotId{3});
  EXPECT_EQ(std::vector(w.begin(), w.end()), (std::vector<OwnedRange>{{1, 0, 20}}));
}

TEST(StateLayout, NamesTheMissingTensor) {
  const std::string fault = fault_of(changed([](int, const SlotTensor& tensor) {
    return !(tensor.kind == "w" && tensor.slot == SlotId{3});
  }));
  EXPECT_THAT(fault, AllOf(HasSubstr("layer 0"), HasSubstr("kind w"), HasSubstr("slot 3")));
}

TEST(StateLayout, NamesTheFirstMissingByteOfAShardedTensor) {
  const std::string fault = fault_of(changed([](int rank, SlotTensor& tensor) {
    if (rank == 1 && tensor.kind == "m" && tensor.slot == SlotId{1}) {
      tensor.ranges[0] = TensorRange{8, 2, tensor.ranges[0].address};
    }
    return true;
  }));
  EXPECT_THAT(fault, AllOf(HasSubstr("kind m, slot 1"), HasSubstr("byte 7 of 10")));
}

TEST(StateLayout, RefusesAnOddShape) {
  const std::string fault = fault_of(changed([](int, SlotTensor& tensor) {
    if (tensor.kind == "w" && tensor.slot == SlotId{2}) {
      tensor.tensor_bytes = 18;
      tensor.ranges[0].bytes = 18;
    }
    return true;
  }));
  EXPECT_THAT(fault, AllOf(HasSubstr("kind w, slot 2"), HasSubstr("18"), HasSubstr("20")));
}

TEST(StateLayout, RefusesOneTensorForSeveralSlots) {
  std::byte* shared = nullptr;
  const std::string fault = fault_of(changed([&](int, SlotTensor& tensor) {
    if (tensor.kind == "w") {  // stride 0 along the expert axis
      shared = shared == nullptr ? tensor.ranges[0].address : shared;
      tensor.ranges[0].address = shared;
    }
    return true;
  }));
  EXPECT_THAT(fault, HasSubstr("shares memory"));
}

TEST(StateLayout, RefusesWhatIsOutsideOrOutOfOrderOrTwice) {
  EXPECT_THAT(
      fault_of(changed([](int, SlotTensor& tensor) {
        tensor.slot = tensor.slot == SlotId{3} ? SlotId{4} : tensor.slot;
        return true;
      })),
      HasSubstr("slot 4")
  );
  EXPECT_THAT(
      fault_of(changed([](int rank, SlotTensor& tensor) {
        if (rank == 1 && tensor.kind == "m") {
          tensor.ranges[0].bytes = 4;  // ends at 11 of 10
        }
        return true;
      })),
      HasSubstr("do not ascend within 10")
  );
  std::vector<ExpertRegistry> twice = two_ranks();
  twice[0].add_whole(MoeLayer{0}, SlotId{0}, "w", memory.data() + 2000, 20);
  EXPECT_THAT(fault_of(twice), HasSubstr("registered twice by rank 0"));
}

TEST(StateLayout, SharedDerivedAndRequiredKindsAreToldApart) {
  std::vector<ExpertRegistry> ranks = two_ranks();
  ranks[0].add_shared(MoeLayer{0}, "bias");
  ranks[1].add_derived(DerivedTensor{MoeLayer{0}, "w.transposed", [] {}});
  for (const char* kind : {"w", "m", "bias", "w.transposed"}) {
    ranks[0].require(MoeLayer{0}, kind);
  }
  EXPECT_EQ(fault_of(ranks), "");

  std::vector<ExpertRegistry> missing = ranks;
  missing[1].require(MoeLayer{0}, "scale");
  EXPECT_THAT(fault_of(missing), AllOf(HasSubstr("kind scale"), HasSubstr("no rank registers")));
  std::vector<ExpertRegistry> both = ranks;
  both[0].add_shared(MoeLayer{0}, "w");
  EXPECT_THAT(fault_of(both), HasSubstr("shared by all experts"));
  std::vector<ExpertRegistry> derived = ranks;
  derived[0].add_derived(DerivedTensor{MoeLayer{0}, "m", [] {}});
  EXPECT_THAT(fault_of(derived), HasSubstr("derived"));
}

}  // namespace
}  // namespace routepack::shuffle
