#include "random/acceptance.hpp"

#include <cmath>

namespace routepack {

Acceptance::Table Acceptance::make_table() {
  Table table{};
  for (std::size_t level = 0; level < kLevels; ++level) {
    const double probability = (static_cast<double>(level) + 0.5) / static_cast<double>(kLevels);
    table[level] = std::llround(-std::log(probability) * 65536.0);
  }
  return table;
}

}  // namespace routepack
