// Counter-based random numbers (Philox4x32-10, Random123): a draw is a pure function of
// (seed, purpose, owner, step, index), so it depends on no rank, thread or platform.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace routepack::random {

// What a stream drives; keeps streams with equal numbers apart.
enum class Purpose : std::uint32_t {
  kMoves = 1,
  kStarts,
  kResampling,
  kPlacement,
  kRowSearch,
  kSynthetic,
  kPerturbation,
  kBlockPlacement,
  kRowCounts,
  kTests = 100,
};

// 128 bits; `word(n)` are four independent 32-bit draws.
class RandomBits {
 public:
  explicit constexpr RandomBits(std::array<std::uint32_t, 4> words) : words_(words) {}
  [[nodiscard]] constexpr std::uint32_t word(std::size_t n) const { return words_[n]; }
  // Uniform in [0, bound) from word n, by multiply-shift: bias below bound / 2^32.
  [[nodiscard]] constexpr std::uint32_t below(std::size_t n, std::uint32_t bound) const {
    return static_cast<std::uint32_t>((std::uint64_t{words_[n]} * bound) >> 32U);
  }
  // Uniform in (0, 1), from words n and n+1, 53 bits.
  [[nodiscard]] double unit(std::size_t n) const;

 private:
  std::array<std::uint32_t, 4> words_;
};

class Stream {
 public:
  Stream(std::uint64_t seed, Purpose purpose, std::uint32_t owner);
  // Draws of (step, index): any order, any number of times, same bits.
  [[nodiscard]] RandomBits at(std::uint32_t step, std::uint64_t index) const;

 private:
  std::uint64_t seed_;
  std::uint32_t purpose_;
  std::uint32_t owner_;
};

// Fisher-Yates from one stream step; a permutation of 0 … size-1.
[[nodiscard]] std::vector<std::int32_t> random_permutation(
    const Stream& stream, std::uint32_t step, std::int32_t size
);

// Metropolis acceptance in integers: no libm in a decision, so that every rank decides alike.

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

}  // namespace routepack::random
