// Where sums take another order, training changes by rounding alone: experts that move with eight
// experts a token, samples that are packed into other rows, another EP x EDP. The same bound in
// units of roundoff holds for float and for double, 2^29 apart: what differs
// is rounding and nothing else.
#include <gtest/gtest.h>

#include "training/compare.hpp"

namespace routepack::training {
namespace {

class RoundingTest : public ::testing::Test {
 protected:
  static Script moves() { return {{{6, 21}, {7, 22}, {12, 23}, {20, 24}}, {}, {}}; }
  static Script other_rows() { return {{}, {{5, 3}, {10, 1}, {15, 4}}, {}}; }

  template <class Precision>
  static void expect_rounding_alone(
      const Trained& expected, const Trained& found, const Shape& shape
  ) {
    const int num_tokens = Replay{shape, kNumSamples, kReplaySeed}.num_tokens();
    const Difference difference = find_largest_difference(expected, found);
    EXPECT_LE(difference.relative, rounding_bound<typename Precision::Real>(num_tokens))
        << difference.where;
  }

  template <class Precision>
  void expect_rounding_alone(int top_k, const Script& script) {
    for (const Shape& shape : shapes_of(comm_.num_mpi_ranks(), top_k)) {
      SCOPED_TRACE(text_of(shape));
      const Trained stayed = train<Precision>(shape, {}, comm_);
      const Trained changed = train<Precision>(shape, script, comm_);
      expect_rounding_alone<Precision>(stayed, changed, shape);
      // The order of summation has changed indeed.
      EXPECT_NE(stayed.losses, changed.losses);
    }
  }

  comm::Communicator comm_{MPI_COMM_WORLD};
};

TEST_F(RoundingTest, MovedExpertsWithTopEight) {
  expect_rounding_alone<SinglePrecision>(8, moves());
  expect_rounding_alone<DoublePrecision>(8, moves());
}

TEST_F(RoundingTest, SamplesInOtherRows) {
  for (const int top_k : {2, 8}) {
    expect_rounding_alone<SinglePrecision>(top_k, other_rows());
    expect_rounding_alone<DoublePrecision>(top_k, other_rows());
  }
}

TEST_F(RoundingTest, ExpertsAndSamplesInMidRun) {
  const Script both{moves().placements, other_rows().rows, {}};
  expect_rounding_alone<SinglePrecision>(8, both);
}

// One rank alone is the reference: it sends nothing.
TEST_F(RoundingTest, EveryShapeLearnsWhatOneRankLearns) {
  const comm::Communicator self{MPI_COMM_SELF};
  const Trained alone = train<DoublePrecision>(Shape{}, {}, self);
  for (const Shape& shape : shapes_of(comm_.num_mpi_ranks(), 2)) {
    SCOPED_TRACE(text_of(shape));
    Trained together = train<DoublePrecision>(shape, {}, comm_);
    expect_rounding_alone<DoublePrecision>(alone, together, shape);
  }
}

}  // namespace
}  // namespace routepack::training
