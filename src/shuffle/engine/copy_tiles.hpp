// Copies cut into tiles, the work of one thread block each: the unit in which a device packs,
// checks and unpacks. Plain data and the checksum, shared with the kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define ROUTEPACK_HOST_DEVICE __host__ __device__
#else
#define ROUTEPACK_HOST_DEVICE
#endif

namespace routepack::shuffle {

enum class TileWork {
  kPack,      // source to target, then zeros; words of the target add to the checksum
  kChecksum,  // words of the source add to the checksum, nothing is written
  kUnpack,    // source to target
};

inline constexpr std::int64_t kTileBytes = std::int64_t{64} << 10U;

struct CopyTile {
  const std::byte* source = nullptr;  // kChecksum: 16-byte aligned; may be null when bytes is 0
  std::byte* target = nullptr;        // kPack: 16-byte aligned
  std::uint64_t first_word = 0;       // place of the tile in its payload, in 8-byte words
  std::int32_t bytes = 0;             // from the source; kChecksum: a multiple of 16
  std::int32_t padded_bytes = 0;      // kPack: `bytes` and zeros behind them, a multiple of 16
  std::int32_t slice = 0;             // which checksum the words add to
  std::int32_t reserved = 0;
};
static_assert(sizeof(CopyTile) == 40);

// A term of the checksum of a payload on a device: their sum, mod 2^64, so that any number of
// threads may add in any order. The host computes the same. A payload is a whole number of 8-byte
// little-endian words. Each term is a bijection of its word for a given position: damage within a
// single word is always noticed, other damage but for a chance of 2^-64.
//
// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): state `word` advanced by `position` + 1 steps of
// the golden gamma, so that position and length count as well.
[[nodiscard]] ROUTEPACK_HOST_DEVICE inline std::uint64_t checksum_term(
    std::uint64_t word, std::uint64_t position
) {
  std::uint64_t value = word + (position + 1) * 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

}  // namespace routepack::shuffle
