#include "base/digest.hpp"

#include <fmt/format.h>

#include <bit>

#define XXH_INLINE_ALL
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wundef"
#include <xxhash.h>
#pragma GCC diagnostic pop

namespace routepack::base {

Digest digest_of(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return Digest{hash.high64, hash.low64};
}

std::string to_hex(const Digest& digest) {
  return fmt::format("{:016x}{:016x}", digest.high, digest.low);
}

void DigestBuilder::add(double value) { add(std::bit_cast<std::uint64_t>(value)); }

}  // namespace routepack::base
