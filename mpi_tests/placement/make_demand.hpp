// Seeded demand of one layer, for tests and benchmarks of placement.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "random/stream.hpp"

namespace routepack::testing {

enum class Loads { kUniform, kLognormal, kZipf };

[[nodiscard]] inline double normal(const random::RandomBits& draw) {
  return std::sqrt(-2.0 * std::log(draw.unit(0))) * std::cos(2.0 * std::numbers::pi * draw.unit(2));
}

// [E] pairs, about 10'000 an expert. Lognormal has sigma 0.6, Zipf exponent 0.7 with 10 % noise.
[[nodiscard]] inline std::vector<std::int64_t> make_demand(
    Loads loads, int num_experts, std::uint64_t seed
) {
  const random::Stream stream{seed, random::Purpose::kTests, static_cast<std::uint32_t>(loads)};
  const std::vector<std::int32_t> rank_of = random::random_permutation(stream, 1, num_experts);
  std::vector<std::int64_t> demand;
  for (const std::int32_t rank : rank_of) {
    const random::RandomBits draw = stream.at(0, static_cast<std::uint64_t>(demand.size()));
    double share = 0.5 + draw.unit(0);
    if (loads == Loads::kLognormal) {
      share = std::exp(0.6 * normal(draw));
    } else if (loads == Loads::kZipf) {
      share =
          std::pow(rank + 1.0, -0.7) * std::pow(num_experts, 0.5) * std::exp(0.1 * normal(draw));
    }
    demand.push_back(std::llround(10'000.0 * share));
  }
  return demand;
}

// [E][blocks padded to 16] pairs, about `mean` each: a lognormal share of every expert (sigma 0.6)
// times what each block makes of it (sigma `spread`).
[[nodiscard]] inline std::vector<std::uint32_t> make_block_demand(
    int num_experts, int num_blocks, double mean, double spread, std::uint64_t seed
) {
  const random::Stream shares{seed, random::Purpose::kTests, 11};
  const random::Stream noise{seed, random::Purpose::kTests, 12};
  const std::size_t stride = (static_cast<std::size_t>(num_blocks) + 15) / 16 * 16;
  std::vector<std::uint32_t> demand(static_cast<std::size_t>(num_experts) * stride, 0);
  for (std::size_t expert = 0; expert < static_cast<std::size_t>(num_experts); ++expert) {
    const double share = std::exp(0.6 * normal(shares.at(0, expert)));
    for (std::size_t block = 0; block < static_cast<std::size_t>(num_blocks); ++block) {
      const random::RandomBits draw = noise.at(static_cast<std::uint32_t>(block), expert);
      demand[expert * stride + block] =
          static_cast<std::uint32_t>(std::llround(mean * share * std::exp(spread * normal(draw))));
    }
  }
  return demand;
}

}  // namespace routepack::testing
