// The hand-written backward pass against finite differences of the loss, at every EP x EDP.
#include <gtest/gtest.h>

#include <cmath>

#include "random/stream.hpp"
#include "training/run.hpp"

namespace routepack::training {
namespace {

class BackwardTest : public ::testing::Test {
 protected:
  // Central difference of the loss along one weight, which `add` changes.
  template <class Add>
  static double slope(Trainer<DoublePrecision>& trainer, const CellLayout& layout, const Add& add) {
    constexpr double kStep = 1e-5;
    add(kStep);
    const double above = trainer.compute_gradients(layout);
    add(-2 * kStep);
    const double below = trainer.compute_gradients(layout);
    add(kStep);
    return (above - below) / (2 * kStep);
  }
  // The difference is good to kStep^2, and to the rounding of the loss over kStep.
  static void expect_close(double found, double expected) {
    EXPECT_NEAR(found, expected, 1e-9 + 1e-6 * std::abs(expected));
  }

  comm::Communicator comm_{MPI_COMM_WORLD};
  random::Stream stream_{3, random::Purpose::kTests, 1};
};

TEST_F(BackwardTest, AgreesWithFiniteDifferences) {
  for (Shape shape : shapes_of(comm_.num_mpi_ranks(), 3)) {
    SCOPED_TRACE(text_of(shape));
    shape.hidden = 4;
    shape.ffn = 3;
    const Replay replay{shape, 16, kReplaySeed};
    const CellLayout layout = deal_samples(shape, 16, 2, 1);
    Trainer<DoublePrecision> trainer{
        shape, replay, testing::random_placement(shape.num_layers, shape.num_experts, shape.ep, 4),
        comm_};
    (void)trainer.compute_gradients(layout);
    const LogicalState state = trainer.gather_state();
    double largest = 0.0;
    for (std::uint64_t draw = 0; draw < 40; ++draw) {
      const random::RandomBits block = stream_.at(0, draw);
      const MoeLayer layer{static_cast<int>(block.below(0, 2))};
      const ExpertId expert{static_cast<int>(block.below(1, 12))};
      const int tensor = layer.value() * shape.num_experts + expert.value();
      for (const Parameter parameter : kParameters) {
        const int size = shape.elements(parameter);
        const auto at = static_cast<int>(block.below(2, static_cast<std::uint32_t>(size)));
        const double expected = slope(trainer, layout, [&](double delta) {
          trainer.add_to_weight(layer, expert, parameter, at, delta);
        });
        const std::string kind = std::string(name_of(parameter)) + ".gradient";
        expect_close(state.at(kind)[static_cast<std::size_t>(tensor * size + at)], expected);
        largest = std::max(largest, std::abs(expected));
      }
      const auto at = static_cast<int>(block.below(3, static_cast<std::uint32_t>(shape.hidden)));
      const double expected = slope(trainer, layout, [&](double delta) {
        trainer.add_to_router(layer, expert, at, delta);
      });
      expect_close(
          state.at("router.gradient")[static_cast<std::size_t>(tensor * shape.hidden + at)],
          expected
      );
    }
    EXPECT_GT(largest, 1e-3);
  }
}

}  // namespace
}  // namespace routepack::training
