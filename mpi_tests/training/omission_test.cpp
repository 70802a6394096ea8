// The comparison has teeth: leaving one kind of tensor out of the move is refused where it can be
// known, and changes what is learnt where it cannot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "support/expect_error.hpp"
#include "training/compare.hpp"

namespace routepack::training {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;
using What = RegistryFault::What;

constexpr std::array kKinds = {"fc1.weight", "fc1.master", "fc1.exp_avg", "fc1.exp_avg_sq",
                               "fc2.weight", "fc2.master", "fc2.exp_avg", "fc2.exp_avg_sq"};

class OmissionTest : public ::testing::Test {
 protected:
  static Script script_with(const RegistryFault& fault) { return {{{6, 21}}, {}, fault}; }

  comm::Communicator comm_{MPI_COMM_WORLD};
};

TEST_F(OmissionTest, AKindThatIsKnownToExistIsRefused) {
  for (const Shape& shape : shapes_of(comm_.num_mpi_ranks(), 2)) {
    SCOPED_TRACE(text_of(shape));
    for (const char* kind : kKinds) {
      testing::expect_error(ErrorCode::kStateIncomplete, kind, [&] {
        (void)train<MixedPrecision>(shape, script_with({What::kNotRegistered, kind}), comm_);
      });
    }
  }
}

TEST_F(OmissionTest, AKindThatOneExpertLacksIsRefused) {
  for (const Shape& shape : shapes_of(comm_.num_mpi_ranks(), 2)) {
    SCOPED_TRACE(text_of(shape));
    for (const char* kind : kKinds) {
      testing::expect_error(ErrorCode::kStateIncomplete, kind, [&] {
        (void)train<MixedPrecision>(shape, script_with({What::kOneSlotMissing, kind}), comm_);
      });
    }
  }
}

TEST_F(OmissionTest, AKindThatNobodyKnowsOfIsCaughtByTheComparison) {
  for (const Shape& shape : shapes_of(comm_.num_mpi_ranks(), 2)) {
    SCOPED_TRACE(text_of(shape));
    const int num_tokens = Replay{shape, kNumSamples, kReplaySeed}.num_tokens();
    const Trained stayed = train<MixedPrecision>(shape, {}, comm_);
    for (const char* kind : kKinds) {
      const Trained moved =
          train<MixedPrecision>(shape, script_with({What::kUnknown, kind}), comm_);
      EXPECT_NE(moved.losses, stayed.losses) << kind;
      EXPECT_THAT(find_differing_kinds(stayed.state, moved.state), Not(IsEmpty())) << kind;
      // Far beyond rounding, too: the comparisons that allow for it would see it.
      EXPECT_GT(
          find_largest_difference(stayed, moved).relative, 10.0 * rounding_bound<float>(num_tokens)
      ) << kind;
    }
  }
}

TEST_F(OmissionTest, ADerivedTensorThatIsNotRebuiltIsCaughtByTheComparison) {
  for (const Shape& shape : shapes_of(comm_.num_mpi_ranks(), 2)) {
    SCOPED_TRACE(text_of(shape));
    const Trained stayed = train<MixedPrecision>(shape, {}, comm_);
    const Trained moved = train<MixedPrecision>(shape, script_with({What::kNotRebuilt, {}}), comm_);
    EXPECT_NE(moved.losses, stayed.losses);
  }
}

}  // namespace
}  // namespace routepack::training
