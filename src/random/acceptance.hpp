// Metropolis acceptance in integers: no libm in a decision, so that every rank decides alike.
#pragma once

#include <array>
#include <cstdint>

#include "random/stream.hpp"

namespace routepack {

// -ln of 4096 evenly spaced probabilities, as multiples of 2^-16. Filled on one rank and
// broadcast, since the last bit of a logarithm may differ between C libraries.
class Acceptance {
 public:
  static constexpr std::size_t kLevels = 4096;
  using Table = std::array<std::int64_t, kLevels>;

  [[nodiscard]] static Table make_table();
  explicit Acceptance(const Table& table) : table_(table) {}

  // The largest energy that a move may lead to, at a temperature in units of energy.
  [[nodiscard]] std::int64_t energy_limit(
      std::int64_t energy, std::int64_t temperature, std::uint32_t random
  ) const {
    const auto rise = static_cast<__int128>(temperature) * table_[random >> 20U];
    return energy + static_cast<std::int64_t>(rise >> 16U);
  }

 private:
  Table table_;
};

}  // namespace routepack
