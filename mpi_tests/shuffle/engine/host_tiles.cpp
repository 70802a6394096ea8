#include "shuffle/engine/host_tiles.hpp"

#include <cstring>

namespace routepack::testing {
namespace {

std::uint64_t sum_words(const std::byte* data, std::int32_t bytes, std::uint64_t first_word) {
  std::uint64_t sum = 0;
  for (std::int32_t at = 0; at < bytes; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, sizeof(word));
    sum += shuffle::checksum_term(word, first_word++);
  }
  return sum;
}

void copy(const shuffle::CopyTile& tile) {
  if (tile.bytes > 0) {
    std::memcpy(tile.target, tile.source, static_cast<std::size_t>(tile.bytes));
  }
}

}  // namespace

void run_tiles_on_host(
    shuffle::TileWork work,
    const shuffle::CopyTile* tiles,
    std::int64_t num_tiles,
    std::uint64_t* checksums
) {
  for (std::int64_t n = 0; n < num_tiles; ++n) {
    const shuffle::CopyTile& tile = tiles[n];
    switch (work) {
      case shuffle::TileWork::kPack:
        copy(tile);
        std::memset(
            tile.target + tile.bytes, 0, static_cast<std::size_t>(tile.padded_bytes - tile.bytes)
        );
        checksums[tile.slice] += sum_words(tile.target, tile.padded_bytes, tile.first_word);
        break;
      case shuffle::TileWork::kChecksum:
        checksums[tile.slice] += sum_words(tile.source, tile.bytes, tile.first_word);
        break;
      case shuffle::TileWork::kUnpack:
        copy(tile);
        break;
    }
  }
}

}  // namespace routepack::testing
