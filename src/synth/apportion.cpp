#include "synth/apportion.hpp"

#include <cmath>

#include "base/check.hpp"

namespace routepack::synth {

std::vector<std::int64_t> apportion(
    std::span<const double> weights, std::int64_t total, std::int64_t cap
) {
  std::vector<std::int64_t> shares(weights.size(), -1);  // -1: not decided
  std::int64_t rest = total;
  double scale = 0.0;
  // Whoever would get more than the cap gets the cap; that leaves more for the others, so repeat.
  for (bool capped = true; capped;) {
    double sum = 0.0;
    for (std::size_t id = 0; id < weights.size(); ++id) {
      sum += shares[id] < 0 ? weights[id] : 0.0;
    }
    scale = sum > 0.0 ? static_cast<double>(rest) / sum : 0.0;
    capped = false;
    for (std::size_t id = 0; id < weights.size(); ++id) {
      if (shares[id] < 0 && weights[id] * scale >= static_cast<double>(cap)) {
        shares[id] = cap;
        rest -= cap;
        capped = true;
      }
    }
  }
  for (std::size_t id = 0; id < weights.size(); ++id) {
    if (shares[id] < 0) {
      shares[id] = static_cast<std::int64_t>(std::floor(weights[id] * scale));
      rest -= shares[id];
    }
  }
  for (bool moved = true; rest != 0 && moved;) {
    moved = false;
    for (std::size_t id = 0; id < weights.size() && rest != 0; ++id) {
      const std::int64_t unit = rest > 0 ? 1 : -1;
      const bool room = rest > 0 ? shares[id] < cap && weights[id] > 0.0 : shares[id] > 0;
      shares[id] += room ? unit : 0;
      rest -= room ? unit : 0;
      moved = moved || room;
    }
  }
  RP_ASSERT(light, rest == 0, "{} of {} units find no room under the cap {}", rest, total, cap);
  return shares;
}

std::vector<std::int64_t> round_systematically(
    std::span<const std::int64_t> shares, int fraction_bits, std::int64_t offset
) {
  std::vector<std::int64_t> rounded;
  rounded.reserve(shares.size());
  std::int64_t position = offset;
  for (const std::int64_t share : shares) {
    const std::int64_t before = position >> fraction_bits;
    position += share;
    rounded.push_back((position >> fraction_bits) - before);
  }
  return rounded;
}

}  // namespace routepack::synth
