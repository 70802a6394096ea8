// Moving experts between steps does not change what is learnt, to the last bit: losses, weights,
// moments, by logical expert. Two experts a token: a sum of two does not depend on its order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "training/run.hpp"

namespace routepack::training {
namespace {

using ::testing::IsEmpty;

class UnchangedTest : public ::testing::Test {
 protected:
  template <class Precision>
  void expect_bit_identical() {
    for (const Shape& shape : shapes_of(comm_.num_mpi_ranks(), 2)) {
      SCOPED_TRACE(text_of(shape));
      const Trained stayed = train<Precision>(shape, {}, comm_);
      const Trained moved =
          train<Precision>(shape, {{{6, 21}, {7, 22}, {12, 23}, {20, 24}}, {}, {}}, comm_);
      EXPECT_GT(moved.moved_experts, 3 * shape.num_layers * shape.num_experts);
      EXPECT_GE(moved.epoch, 4);
      EXPECT_EQ(moved.losses, stayed.losses);
      EXPECT_THAT(find_differing_kinds(stayed.state, moved.state), IsEmpty());
      EXPECT_LT(stayed.losses.back(), 0.7 * stayed.losses.front());  // it learns
    }
  }

  comm::Communicator comm_{MPI_COMM_WORLD};
};

TEST_F(UnchangedTest, BitIdenticalWithBfloat16Weights) { expect_bit_identical<MixedPrecision>(); }

TEST_F(UnchangedTest, BitIdenticalInSinglePrecision) { expect_bit_identical<SinglePrecision>(); }

// Every EDP shard has the same weights, and no value is missing from a comparison.
TEST_F(UnchangedTest, ShardsAgreeOnTheWeights) {
  for (const Shape& shape : shapes_of(comm_.num_mpi_ranks(), 2)) {
    SCOPED_TRACE(text_of(shape));
    const LogicalState state = train<MixedPrecision>(shape, {{{9, 31}}, {}, {}}, comm_).state;
    for (const Parameter parameter : kParameters) {
      const std::string kind = std::string(name_of(parameter)) + ".weight@";
      for (int shard = 0; shard < shape.edp; ++shard) {
        EXPECT_EQ(state.at(kind + std::to_string(shard)), state.at(kind + "0"));
      }
    }
    for (const auto& [kind, values] : state) {
      EXPECT_EQ(values, values) << kind << " has a value that nobody holds";
    }
  }
}

}  // namespace
}  // namespace routepack::training
