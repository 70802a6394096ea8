// Windows for packing tests and benches, many with a known fewest number of cells. Every maker is
// a pure function of its stream.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "random/stream.hpp"

namespace routepack::testing {

struct PlantedWindow {
  std::string name;
  std::vector<std::int64_t> lengths;  // tokens, in random order
  std::int64_t capacity_tokens = 0;
  std::optional<std::int64_t> fewest_cells;  // where known by construction
};

inline random::Stream planted_stream(std::uint64_t seed, std::uint32_t owner) {
  return random::Stream{seed, random::Purpose::kTests, owner};
}

// Steps of the stream.
enum PlantedStep : std::uint32_t { kPlantedShuffle, kPlantedFirst, kPlantedSecond };

inline void shuffle_in_place(std::vector<std::int64_t>& lengths, const random::Stream& stream) {
  std::vector<std::int64_t> shuffled;
  const auto size = static_cast<std::int32_t>(lengths.size());
  for (const std::int32_t at : random::random_permutation(stream, kPlantedShuffle, size)) {
    shuffled.push_back(lengths[static_cast<std::size_t>(at)]);
  }
  lengths = shuffled;
}

// Uniform in [low, high].
inline std::int64_t uniform_length(
    const random::Stream& stream,
    std::uint32_t step,
    std::uint64_t n,
    std::int64_t low,
    std::int64_t high
) {
  const double unit = stream.at(step, n).unit(0);
  const auto offset = static_cast<std::int64_t>(unit * static_cast<double>(high - low + 1));
  return low + std::min(offset, high - low);
}

// Full cells, each cut at random into 1 … max_parts samples: the fewest cells are those.
inline PlantedWindow cut_full_cells(
    int num_cells, std::int64_t capacity, int max_parts, const random::Stream& stream
) {
  PlantedWindow window{"cut", {}, capacity, num_cells};
  std::uint64_t draw = 0;
  for (int cell = 0; cell < num_cells; ++cell) {
    std::int64_t left = capacity;
    const std::int64_t parts =
        std::min(capacity, uniform_length(stream, kPlantedFirst, draw++, 1, max_parts));
    for (std::int64_t part = parts; part > 1; --part) {
      const std::int64_t most = std::min(left - (part - 1), 2 * left / part);
      const std::int64_t length = uniform_length(stream, kPlantedSecond, draw++, 1, most);
      window.lengths.push_back(length);
      left -= length;
    }
    window.lengths.push_back(left);
  }
  shuffle_in_place(window.lengths, stream);
  return window;
}

// Triplets of 380-490, 250 to half the rest, rest, of 1000: three a cell, no other way.
inline PlantedWindow triplets(int num_cells, const random::Stream& stream) {
  PlantedWindow window{"triplets", {}, 1000, num_cells};
  for (int cell = 0; cell < num_cells; ++cell) {
    const auto draw = static_cast<std::uint64_t>(cell);
    const std::int64_t first = uniform_length(stream, kPlantedFirst, draw, 380, 490);
    const std::int64_t second =
        uniform_length(stream, kPlantedSecond, draw, 250, (1000 - first) / 2 - 1);
    window.lengths.insert(window.lengths.end(), {first, second, 1000 - first - second});
  }
  shuffle_in_place(window.lengths, stream);
  return window;
}

inline PlantedWindow uniform_window(
    int num_samples,
    std::int64_t low,
    std::int64_t high,
    std::int64_t capacity,
    const random::Stream& stream
) {
  PlantedWindow window{"uniform", {}, capacity, std::nullopt};
  for (int n = 0; n < num_samples; ++n) {
    window.lengths.push_back(
        uniform_length(stream, kPlantedFirst, static_cast<std::uint64_t>(n), low, high)
    );
  }
  return window;
}

enum class LongTail {
  kClipped,  // what is longer than the capacity has exactly the capacity: ties, as rollouts have
  kRedrawn,  // what is longer is drawn again: no ties, the harder class
};

// Lognormal lengths with the given median before the tail is treated.
inline PlantedWindow lognormal_window(
    int num_samples,
    double median,
    double sigma,
    std::int64_t capacity,
    LongTail tail,
    const random::Stream& stream
) {
  PlantedWindow window{"lognormal", {}, capacity, std::nullopt};
  constexpr double kTwoPi = 6.283185307179586;
  for (std::uint64_t draw = 0; window.lengths.size() < static_cast<std::size_t>(num_samples);
       ++draw) {
    const random::RandomBits block = stream.at(kPlantedFirst, draw);
    const double normal =
        std::sqrt(-2.0 * std::log(block.unit(0))) * std::cos(kTwoPi * block.unit(2));
    const double length = std::ceil(median * std::exp(sigma * normal));
    if (length <= static_cast<double>(capacity)) {
      window.lengths.push_back(static_cast<std::int64_t>(length));
    } else if (tail == LongTail::kClipped) {
      window.lengths.push_back(capacity);
    }
  }
  return window;
}

// All of one length: floor(capacity / length) a cell.
inline PlantedWindow all_equal(int num_samples, std::int64_t length, std::int64_t capacity) {
  const std::int64_t per_cell = capacity / length;
  return {
      "all equal", std::vector<std::int64_t>(static_cast<std::size_t>(num_samples), length),
      capacity, (num_samples + per_cell - 1) / per_cell};
}

// Every sample longer than half the capacity: one a cell.
inline PlantedWindow one_per_cell(
    int num_samples, std::int64_t capacity, const random::Stream& stream
) {
  PlantedWindow window = uniform_window(num_samples, capacity / 2 + 1, capacity, capacity, stream);
  window.name = "one per cell";
  window.fewest_cells = num_samples;
  return window;
}

}  // namespace routepack::testing
