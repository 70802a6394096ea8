// Whole training runs for tests: steps between which experts move or samples change their cells.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "shuffle/placements.hpp"
#include "training/trainer.hpp"

namespace routepack::training {

inline constexpr int kNumSteps = 24;
inline constexpr int kNumSamples = 30;
inline constexpr std::uint64_t kReplaySeed = 11;

// Before which step what happens.
struct Script {
  std::map<int, std::uint64_t> placements;  // step -> seed of the placement
  std::map<int, int> rows;                  // step -> number of rows to deal the samples over
  RegistryFault fault;
};

struct Trained {
  std::vector<double> losses;
  LogicalState state;
  std::int64_t moved_experts = 0;
  std::int64_t epoch = 0;
};

// ep x edp that use all ranks: 4 ranks are 1x4, 2x2 and 4x1.
[[nodiscard]] inline std::vector<Shape> shapes_of(int num_ranks, int top_k) {
  std::vector<Shape> shapes;
  for (int ep = 1; ep <= num_ranks; ++ep) {
    if (num_ranks % ep == 0) {
      shapes.push_back(Shape{ep, num_ranks / ep, top_k});
    }
  }
  return shapes;
}

[[nodiscard]] inline std::string text_of(const Shape& shape) {
  return "EP " + std::to_string(shape.ep) + " x EDP " + std::to_string(shape.edp) + ", top " +
         std::to_string(shape.top_k);
}

// Collective. Moves alternate between the modes of a shuffle.
template <class Precision>
[[nodiscard]] Trained train(
    const Shape& shape, const Script& script, const comm::Communicator& comm
) {
  const Replay replay{shape, kNumSamples, kReplaySeed};
  Trainer<Precision> trainer{
      shape, replay, identity_placement(shape.num_layers, shape.num_experts, shape.ep), comm};
  CellLayout layout = deal_samples(shape, kNumSamples, 2, 1);
  ShuffleOptions options;
  options.round_bytes = 512;
  Trained run;
  for (int step = 0; step < kNumSteps; ++step) {
    if (const auto change = script.placements.find(step); change != script.placements.end()) {
      const Placement target =
          testing::random_placement(shape.num_layers, shape.num_experts, shape.ep, change->second);
      const ShuffleReport report = trainer.move_experts(target, options, script.fault);
      run.moved_experts += report.moved_experts;
      run.epoch = report.epoch;
      options.mode = options.mode == ShuffleMode::kFullShadow ? ShuffleMode::kPerLayer
                                                              : ShuffleMode::kFullShadow;
    }
    if (const auto change = script.rows.find(step); change != script.rows.end()) {
      layout =
          deal_samples(shape, kNumSamples, change->second, static_cast<std::uint64_t>(step) + 5);
    }
    run.losses.push_back(trainer.step(layout));
  }
  run.state = trainer.gather_state();
  return run;
}

}  // namespace routepack::training
