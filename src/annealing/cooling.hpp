// How a round cools: temperatures from a culling target, kept on a course that ends in time, and
// the systematic resampling of the population between them. Pure functions of gathered integers,
// run on one rank; only their results are broadcast.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/tuning.hpp"
#include "routepack/ids.hpp"

namespace routepack::annealing {

using Energies = IndexVector<ChainId, std::int64_t>;

// Mean of max(0, 1 - expected copies) over chains when 1/T grows by `step` (per unit of energy):
// the share of the population that a resampling would replace.
[[nodiscard]] double culling_fraction(const Energies& energies, double step);

// The step of 1/T whose culling fraction is `target`, at most `max_step`: 40 bisections. Max_step
// where even that culls less (a plateau of equal energies).
[[nodiscard]] double find_step(const Energies& energies, double target, double max_step);

// Copies of every chain, Σ = P: floor or ceiling of the expected number, one random draw in all.
[[nodiscard]] IndexVector<ChainId, std::int32_t> resample(
    const Energies& energies, double step, std::uint32_t random
);

// The chain whose state every chain continues: itself where it survives, else a surplus copy;
// dead ids take surplus copies, both ascending. Depends on no rank.
[[nodiscard]] IndexVector<ChainId, ChainId> parents_of(
    const IndexVector<ChainId, std::int32_t>& copies
);

// Families are the descendants of one chain since the last restart.
struct FamilyStatistics {
  int num_families = 0;
  double rho_t = 0.0;  // P Σ n_k², n_k a family's share: 1 at the start, P for one family
};
[[nodiscard]] FamilyStatistics family_statistics(const IndexVector<ChainId, std::int32_t>& family);

// Whether so few families are left that copies have to part before the next resampling: fewer even
// ones (P / rho_t) than `tuning` asks for.
[[nodiscard]] bool is_collapsed(
    const IndexVector<ChainId, std::int32_t>& family, const domain::Tuning::Population& tuning
);

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

struct Cooling {
  std::int64_t temperature = 0;  // of the next stage
  double step = 0.0;             // growth of 1/T, weights the resampling
};

// The next temperature: from `tuning.culling`, but neither faster than the square nor slower
// than the root of the even geometric course to `last`. `stages_left` counts the next one in.
// A collapsed population stays at its temperature once, so that copies part;
// fewer than two energies follow the even course.
[[nodiscard]] Cooling cool(
    const Energies& energies,
    std::int64_t temperature,
    std::int64_t last,
    int stages_left,
    bool collapsed,
    const domain::Tuning::Population& tuning
);

// Sweeps of stage `stage` when `num_sweeps` are shared over `num_stages`: they differ by one.
[[nodiscard]] std::int64_t sweeps_of_stage(std::int64_t num_sweeps, int num_stages, int stage);

}  // namespace routepack::annealing
