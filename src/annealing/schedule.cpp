#include "annealing/schedule.hpp"

#include <algorithm>
#include <cmath>

namespace routepack {

Cooling cool(
    const Energies& energies,
    std::int64_t temperature,
    std::int64_t last,
    int stages_left,
    bool collapsed
) {
  const auto now = static_cast<double>(std::max<std::int64_t>(temperature, 1));
  const auto end = static_cast<double>(std::max<std::int64_t>(last, 1));
  const double even = std::min(1.0, std::pow(end / now, 1.0 / std::max(stages_left, 1)));
  double factor = even;
  if (collapsed) {
    factor = 1.0;
  } else if (energies.size() > 1) {
    const double most = (1.0 / (even * even) - 1.0) / now;
    const double step = find_step(energies, kTargetCulling, most);
    factor = std::clamp(1.0 / (1.0 + step * now), even * even, std::sqrt(even));
  }
  const std::int64_t next = std::max<std::int64_t>(std::llround(now * factor), 1);
  return Cooling{next, std::max(0.0, 1.0 / static_cast<double>(next) - 1.0 / now)};
}

std::int64_t sweeps_of_stage(std::int64_t num_sweeps, int num_stages, int stage) {
  return num_sweeps * (stage + 1) / num_stages - num_sweeps * stage / num_stages;
}

}  // namespace routepack
