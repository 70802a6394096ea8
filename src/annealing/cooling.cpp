#include "annealing/cooling.hpp"

#include <algorithm>
#include <cmath>

namespace routepack::annealing {
namespace {

// exp(-step · (energy - lowest)): the heaviest chain weighs 1.
std::vector<double> boltzmann_weights(const Energies& energies, double step) {
  const std::int64_t lowest = *std::min_element(energies.begin(), energies.end());
  std::vector<double> weights;
  weights.reserve(energies.size());
  for (const std::int64_t energy : energies) {
    weights.push_back(std::exp(-step * static_cast<double>(energy - lowest)));
  }
  return weights;
}

}  // namespace

double culling_fraction(const Energies& energies, double step) {
  const std::vector<double> weights = boltzmann_weights(energies, step);
  double total = 0.0;
  for (const double weight : weights) {
    total += weight;
  }
  const auto count = static_cast<double>(weights.size());
  double culled = 0.0;
  for (const double weight : weights) {
    culled += std::max(0.0, 1.0 - count * weight / total);
  }
  return culled / count;
}

double find_step(const Energies& energies, double target, double max_step) {
  if (culling_fraction(energies, max_step) <= target) {
    return max_step;
  }
  double low = 0.0;
  double high = max_step;
  for (int bisection = 0; bisection < 40; ++bisection) {
    const double middle = 0.5 * (low + high);
    (culling_fraction(energies, middle) < target ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

IndexVector<ChainId, std::int32_t> resample(
    const Energies& energies, double step, std::uint32_t random
) {
  // Fixed point: chain j owns copy k where (k + u) · total < P · cumulative_j, exactly.
  std::vector<std::uint64_t> weights;
  unsigned __int128 total = 0;
  for (const double weight : boltzmann_weights(energies, step)) {
    weights.push_back(static_cast<std::uint64_t>(weight * 0x1.0p40));
    total += weights.back();
  }
  const auto count = static_cast<std::uint64_t>(weights.size());
  IndexVector<ChainId, std::int32_t> copies{weights.size(), 0};
  unsigned __int128 cumulative = 0;
  std::uint64_t copy = 0;
  for (const ChainId chain : ids<ChainId>(weights.size())) {
    cumulative += weights[chain.offset()];
    while (copy < count && ((static_cast<unsigned __int128>(copy) << 32U) + random) * total <
                               (static_cast<unsigned __int128>(count) << 32U) * cumulative) {
      ++copies[chain];
      ++copy;
    }
  }
  return copies;
}

IndexVector<ChainId, ChainId> parents_of(const IndexVector<ChainId, std::int32_t>& copies) {
  std::vector<ChainId> surplus;
  for (const ChainId chain : ids<ChainId>(copies.size())) {
    for (std::int32_t copy = 1; copy < copies[chain]; ++copy) {
      surplus.push_back(chain);
    }
  }
  IndexVector<ChainId, ChainId> parents{copies.size()};
  std::size_t next = 0;
  for (const ChainId chain : ids<ChainId>(copies.size())) {
    parents[chain] = copies[chain] > 0 ? chain : surplus[next++];
  }
  return parents;
}

FamilyStatistics family_statistics(const IndexVector<ChainId, std::int32_t>& family) {
  IndexVector<ChainId, std::int64_t> size{family.size(), 0};
  for (const std::int32_t founder : family) {
    ++size[ChainId{founder}];
  }
  FamilyStatistics statistics;
  const auto count = static_cast<double>(family.size());
  for (const std::int64_t members : size) {
    statistics.num_families += members > 0 ? 1 : 0;
    statistics.rho_t += static_cast<double>(members * members) / count;
  }
  return statistics;
}

bool is_collapsed(
    const IndexVector<ChainId, std::int32_t>& family, const domain::Tuning::Population& tuning
) {
  const auto num_chains = static_cast<double>(family.size());
  return num_chains / family_statistics(family).rho_t < tuning.fewest_families;
}

Cooling cool(
    const Energies& energies,
    std::int64_t temperature,
    std::int64_t last,
    int stages_left,
    bool collapsed,
    const domain::Tuning::Population& tuning
) {
  const auto now = static_cast<double>(std::max<std::int64_t>(temperature, 1));
  const auto end = static_cast<double>(std::max<std::int64_t>(last, 1));
  const double even = std::min(1.0, std::pow(end / now, 1.0 / std::max(stages_left, 1)));
  double factor = even;
  if (collapsed) {
    factor = 1.0;
  } else if (energies.size() > 1) {
    const double most = (1.0 / (even * even) - 1.0) / now;
    const double step = find_step(energies, tuning.culling, most);
    factor = std::clamp(1.0 / (1.0 + step * now), even * even, std::sqrt(even));
  }
  const std::int64_t next = std::max<std::int64_t>(std::llround(now * factor), 1);
  return Cooling{next, std::max(0.0, 1.0 / static_cast<double>(next) - 1.0 / now)};
}

std::int64_t sweeps_of_stage(std::int64_t num_sweeps, int num_stages, int stage) {
  return num_sweeps * (stage + 1) / num_stages - num_sweeps * stage / num_stages;
}

}  // namespace routepack::annealing
