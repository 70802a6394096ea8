// Copies cut into tiles, the work of one thread block each: the unit in which a device packs,
// checks and unpacks. Plain data, shared with the kernels; the functions here are the host's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace routepack {

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

// The host's version of what DeviceApi::run_tiles does on a device.
void run_tiles_on_host(
    TileWork work, const CopyTile* tiles, std::int64_t num_tiles, std::uint64_t* checksums
);

}  // namespace routepack
