// The copy loop of pack, with the checksum fused: each piece is hashed while it is still in cache.
// Included by one source file per instruction set, so everything here has internal linkage and
// nothing comes from std templates, which the linker would merge across instruction sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#define XXH_INLINE_ALL
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wundef"
#include <xxhash.h>
#pragma GCC diagnostic pop

#include "shuffle/gather.hpp"

namespace routepack::detail {
namespace {

class FusedCopy {
 public:
  FusedCopy(std::byte* target, std::size_t bytes) : target_(target), bytes_(bytes) {
    XXH3_64bits_reset(&state_);
  }
  void copy(const std::byte* source, std::size_t bytes) {
    while (bytes > 0) {
      const std::size_t piece = bytes < room() ? bytes : room();
      std::memcpy(target_ + filled_, source, piece);
      advance(piece);
      source += piece;
      bytes -= piece;
    }
  }
  void zero_until(std::size_t end) {
    while (filled_ < end) {
      const std::size_t piece = end - filled_ < room() ? end - filled_ : room();
      std::memset(target_ + filled_, 0, piece);
      advance(piece);
    }
  }
  std::uint64_t finish() {
    zero_until(bytes_);
    hash();
    return XXH3_64bits_digest(&state_);
  }

 private:
  // Fits the second-level cache beside the source; measured best of 4 KiB to 256 KiB.
  static constexpr std::size_t kPieceBytes = std::size_t{64} << 10U;

  std::size_t room() const { return hashed_ + kPieceBytes - filled_; }
  void advance(std::size_t piece) {
    filled_ += piece;
    if (room() == 0) {
      hash();
    }
  }
  void hash() {
    XXH3_64bits_update(&state_, target_ + hashed_, filled_ - hashed_);
    hashed_ = filled_;
  }

  XXH3_state_t state_;
  std::byte* target_;
  std::size_t bytes_;
  std::size_t filled_ = 0;
  std::size_t hashed_ = 0;
};

std::uint64_t gather_here(
    std::byte* target, std::size_t bytes, const CopySegment* segments, std::size_t num_segments
) {
  FusedCopy fused{target, bytes};
  for (std::size_t n = 0; n < num_segments; ++n) {
    fused.zero_until(static_cast<std::size_t>(segments[n].target - target));
    fused.copy(segments[n].source, static_cast<std::size_t>(segments[n].bytes));
  }
  return fused.finish();
}

std::uint64_t checksum_here(const std::byte* source, std::size_t bytes) {
  return XXH3_64bits(source, bytes);
}

}  // namespace
}  // namespace routepack::detail
