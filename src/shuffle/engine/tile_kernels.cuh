// What the threads of a block do with a tile. Stores are always 16 bytes wide where the target
// allows it; loads are as wide as the source's alignment allows; what is left over goes byte by
// byte. Uses few built-ins of CUDA, so that a test can run it on the host, thread after thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shuffle/engine/copy_tiles.hpp"

namespace routepack::shuffle {
namespace {

constexpr int kThreads = 256;
constexpr std::int32_t kBlockBytes = 16;

struct alignas(16) Vector {
  std::uint64_t words[2];
};

// 16 bytes through loads of one Unit, to which `source` is aligned.
template <class Unit>
__device__ Vector load_block(const std::byte* source) {
  union {
    Unit units[kBlockBytes / sizeof(Unit)];
    Vector block;
  } loaded;
  const Unit* from = reinterpret_cast<const Unit*>(source);
#pragma unroll
  for (int n = 0; n < static_cast<int>(kBlockBytes / sizeof(Unit)); ++n) {
    loaded.units[n] = __ldcs(from + n);
  }
  return loaded.block;
}

// `count` < 16 bytes (none if negative), zeros behind them.
__device__ Vector load_partial(const std::byte* source, std::int32_t count) {
  Vector block{};
  for (std::int32_t n = 0; n < count; ++n) {
    const auto value = static_cast<std::uint64_t>(source[n]);
    block.words[n / 8] |= value << (8 * (n % 8));
  }
  return block;
}

__device__ std::uint64_t sum_block(const Vector& block, std::uint64_t first_word) {
  return checksum_term(block.words[0], first_word) + checksum_term(block.words[1], first_word + 1);
}

// Whole blocks of the source, the target 16-byte aligned. Returns this thread's part of the sum.
template <TileWork kWork, class Unit>
__device__ std::uint64_t run_blocks(
    const std::byte* source, std::byte* target, std::int32_t num_blocks, std::uint64_t first_word
) {
  constexpr int kUnroll = sizeof(Unit) >= 4 ? 4 : 1;  // blocks in flight, within 64 registers
  std::uint64_t sum = 0;
  for (auto base = static_cast<std::int32_t>(threadIdx.x); base < num_blocks;
       base += kThreads * kUnroll) {
    Vector blocks[static_cast<std::size_t>(kUnroll)];
#pragma unroll
    for (int n = 0; n < kUnroll; ++n) {
      const std::int32_t at = base + n * kThreads;
      if (at < num_blocks) {
        blocks[n] = load_block<Unit>(source + std::int64_t{kBlockBytes} * at);
      }
    }
#pragma unroll
    for (int n = 0; n < kUnroll; ++n) {
      const std::int32_t at = base + n * kThreads;
      if (at < num_blocks) {
        if constexpr (kWork != TileWork::kChecksum) {
          reinterpret_cast<Vector*>(target)[at] = blocks[n];
        }
        if constexpr (kWork != TileWork::kUnpack) {
          sum += sum_block(blocks[n], first_word + 2 * static_cast<std::uint64_t>(at));
        }
      }
    }
  }
  return sum;
}

template <TileWork kWork>
__device__ std::uint64_t run_aligned(
    const std::byte* source, std::byte* target, std::int32_t num_blocks, std::uint64_t first_word
) {
  const auto address = reinterpret_cast<std::uintptr_t>(source);
  if (address % 16 == 0) {
    return run_blocks<kWork, int4>(source, target, num_blocks, first_word);
  }
  if (address % 8 == 0) {
    return run_blocks<kWork, int2>(source, target, num_blocks, first_word);
  }
  if (address % 4 == 0) {
    return run_blocks<kWork, int>(source, target, num_blocks, first_word);
  }
  if (address % 2 == 0) {
    return run_blocks<kWork, short>(source, target, num_blocks, first_word);
  }
  return run_blocks<kWork, signed char>(source, target, num_blocks, first_word);
}

__device__ std::uint64_t run_pack(const CopyTile& tile) {
  const std::int32_t num_whole = tile.bytes / kBlockBytes;
  std::uint64_t sum =
      run_aligned<TileWork::kPack>(tile.source, tile.target, num_whole, tile.first_word);
  const std::int32_t num_blocks = tile.padded_bytes / kBlockBytes;
  for (auto at = num_whole + static_cast<std::int32_t>(threadIdx.x); at < num_blocks;
       at += kThreads) {
    const std::int32_t begin = kBlockBytes * at;
    const Vector block = load_partial(tile.source + begin, tile.bytes - begin);
    reinterpret_cast<Vector*>(tile.target)[at] = block;
    sum += sum_block(block, tile.first_word + 2 * static_cast<std::uint64_t>(at));
  }
  return sum;
}

// The target may start and end anywhere.
__device__ void run_unpack(const CopyTile& tile) {
  const auto misalignment =
      static_cast<std::int32_t>(reinterpret_cast<std::uintptr_t>(tile.target) % kBlockBytes);
  const std::int32_t head = min(tile.bytes, (kBlockBytes - misalignment) % kBlockBytes);
  const std::int32_t num_blocks = (tile.bytes - head) / kBlockBytes;
  run_aligned<TileWork::kUnpack>(tile.source + head, tile.target + head, num_blocks, 0);
  const std::int32_t tail_begin = head + num_blocks * kBlockBytes;
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  if (thread < head) {
    tile.target[thread] = tile.source[thread];
  }
  if (tail_begin + thread < tile.bytes) {  // fewer than 16
    tile.target[tail_begin + thread] = tile.source[tail_begin + thread];
  }
}

__device__ void add_to_checksum(std::uint64_t sum, std::uint64_t* checksum) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2) {
    sum += __shfl_down_sync(0xffffffffU, static_cast<unsigned long long>(sum), offset);
  }
  if (threadIdx.x % warpSize == 0) {
    atomicAdd(
        reinterpret_cast<unsigned long long*>(checksum), static_cast<unsigned long long>(sum)
    );
  }
}

// The work of one thread of kThreads.
template <TileWork kWork>
__device__ void run_tile_thread(const CopyTile& tile, std::uint64_t* checksums) {
  if constexpr (kWork == TileWork::kUnpack) {
    run_unpack(tile);
  } else if constexpr (kWork == TileWork::kPack) {
    add_to_checksum(run_pack(tile), checksums + tile.slice);
  } else {
    const std::uint64_t sum =
        run_aligned<kWork>(tile.source, nullptr, tile.bytes / kBlockBytes, tile.first_word);
    add_to_checksum(sum, checksums + tile.slice);
  }
}

}  // namespace
}  // namespace routepack::shuffle
