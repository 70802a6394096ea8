// How a round cools: temperatures from a culling target, kept on a course that ends in time.
#pragma once

#include <cstdint>

#include "annealing/resampling.hpp"

namespace routepack {

// A round of annealing: `num_stages` temperatures from `first` down to about `last` (units of
// energy), `sweeps` shared out evenly, or as many as fit before `deadline_seconds`.
struct Round {
  std::int64_t first_temperature = 0;
  std::int64_t last_temperature = 0;
  int num_stages = 1;
  std::int64_t num_sweeps = 1;      // of each chain; ignored with a deadline
  double deadline_seconds = 0.0;    // on the root's clock; 0: none
  std::int64_t enough = INT64_MIN;  // a max_shard, in units, at which the round ends
};

// Chains replaced by a resampling, aimed at: small populations lose their families quickly.
inline constexpr double kTargetCulling = 0.07;

struct Cooling {
  std::int64_t temperature = 0;  // of the next stage
  double step = 0.0;             // growth of 1/T, weights the resampling
};

// The next temperature: from the culling target, but neither faster than the square nor slower
// than the root of the even geometric course to `last`. `stages_left` counts the next one in.
// A collapsed population (P / rho_t < 2) stays at its temperature once, so that copies part;
// fewer than two energies follow the even course.
[[nodiscard]] Cooling cool(
    const Energies& energies,
    std::int64_t temperature,
    std::int64_t last,
    int stages_left,
    bool collapsed
);

// Sweeps of stage `stage` when `num_sweeps` are shared over `num_stages`: they differ by one.
[[nodiscard]] std::int64_t sweeps_of_stage(std::int64_t num_sweeps, int num_stages, int stage);

}  // namespace routepack
