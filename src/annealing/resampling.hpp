// Systematic resampling of a population between temperatures, and its statistics. Pure functions
// of gathered integers, run on one rank; only the integer results are broadcast.
#pragma once

#include <cstdint>
#include <vector>

#include "routepack/ids.hpp"

namespace routepack {

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

}  // namespace routepack
