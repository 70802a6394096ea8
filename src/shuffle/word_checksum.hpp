// The checksum of payloads on a device: a sum, mod 2^64, of one term a word, so that any number of
// threads may add in any order. The host computes the same. A payload is a whole number of 8-byte
// little-endian words. Each term is a bijection of its word for a given position: damage within a
// single word is always noticed, other damage but for a chance of 2^-64.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define ROUTEPACK_HOST_DEVICE __host__ __device__
#else
#define ROUTEPACK_HOST_DEVICE
#endif

namespace routepack {

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

}  // namespace routepack
