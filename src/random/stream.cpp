#include "random/stream.hpp"

#include <Random123/philox.h>

#include <cmath>
#include <numeric>
#include <utility>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic pop

namespace routepack::random {
double RandomBits::unit(std::size_t n) const {
  const std::uint64_t bits = (std::uint64_t{words_[n]} << 32U) | words_[n + 1];
  return (static_cast<double>(bits >> 11U) + 0.5) * 0x1.0p-53;
}

Stream::Stream(std::uint64_t seed, Purpose purpose, std::uint32_t owner)
    : seed_(seed), purpose_(static_cast<std::uint32_t>(purpose)), owner_(owner) {}

RandomBits Stream::at(std::uint32_t step, std::uint64_t index) const {
  // Counter: step 32 | index 64 | owner 24 + purpose 8. Key: the seed.
  const philox4x32_ctr_t counter = {
      {step, static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32U),
       (owner_ << 8U) | purpose_}};
  const philox4x32_key_t key = {
      {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32U)}};
  const philox4x32_ctr_t drawn = philox4x32(counter, key);
  return RandomBits{{drawn.v[0], drawn.v[1], drawn.v[2], drawn.v[3]}};
}

std::vector<std::int32_t> random_permutation(
    const Stream& stream, std::uint32_t step, std::int32_t size
) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t last = order.size(); last > 1; --last) {
    const std::uint32_t other = stream.at(step, last).below(0, static_cast<std::uint32_t>(last));
    std::swap(order[last - 1], order[other]);
  }
  return order;
}

Acceptance::Table Acceptance::make_table() {
  Table table{};
  for (std::size_t level = 0; level < kLevels; ++level) {
    const double probability = (static_cast<double>(level) + 0.5) / static_cast<double>(kLevels);
    table[level] = std::llround(-std::log(probability) * 65536.0);
  }
  return table;
}

}  // namespace routepack::random
