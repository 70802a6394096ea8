// The code of the device's threads, run on the host: every thread of a block in turn, a warp being
// one thread. Shows that a block covers its tile and that each access is aligned to its width
// (the undefined-behaviour sanitizer looks), not that a device runs it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "random/stream.hpp"
#include "shuffle/engine/host_tiles.hpp"

// What of CUDA the code uses.
#define __device__
namespace routepack::shuffle {
namespace {
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(8) int2 {
  int x, y;
};
struct ThreadIndex {
  unsigned x = 0;
};
ThreadIndex threadIdx;
constexpr int warpSize = 1;
template <class T>
T __ldcs(const T* from) {
  return *from;
}
template <class T>
T min(T a, T b) {
  return std::min(a, b);
}
[[maybe_unused]] unsigned long long __shfl_down_sync(
    unsigned /*mask*/, unsigned long long /*value*/, int /*offset*/
) {
  return 0;
}
void atomicAdd(unsigned long long* sum, unsigned long long value) { *sum += value; }
}  // namespace
}  // namespace routepack::shuffle

#include "shuffle/engine/tile_kernels.cuh"

namespace routepack::shuffle {
namespace {

struct Result {
  std::vector<std::byte> memory;
  std::uint64_t checksum = 0;
  bool operator==(const Result&) const = default;
};

constexpr std::size_t kMemory = 70000;

template <TileWork kWork>
void run_as_device(const CopyTile& tile, std::uint64_t* checksums) {
  for (threadIdx.x = 0; threadIdx.x < kThreads; ++threadIdx.x) {
    run_tile_thread<kWork>(tile, checksums);
  }
}

class TileKernels : public ::testing::Test {
 protected:
  TileKernels() : source_(kMemory) {
    const random::Stream stream{3, random::Purpose::kTests, 1};
    for (std::size_t n = 0; n < source_.size(); ++n) {
      source_[n] = static_cast<std::byte>(stream.at(0, n).word(0) & 0xffU);
    }
  }
  // The same tile by the device's code and by the host's.
  template <TileWork kWork>
  void compare(std::size_t from, std::size_t to, std::int32_t bytes, std::int32_t padded_bytes) {
    Result results[2];
    for (int by_device = 0; by_device < 2; ++by_device) {
      std::vector<std::byte> memory(kMemory + 16, std::byte{0xee});
      const std::size_t start = align(memory);
      std::vector<std::byte> source(kMemory + 16);
      const std::size_t source_start = align(source);
      std::copy(source_.begin(), source_.end(), source.data() + source_start);
      CopyTile tile;
      tile.source = source.data() + source_start + from;
      tile.target = memory.data() + start + to;
      tile.first_word = 12345;
      tile.bytes = bytes;
      tile.padded_bytes = padded_bytes;
      std::uint64_t checksum = 7;
      if (by_device == 1) {
        run_as_device<kWork>(tile, &checksum);
      } else {
        testing::run_tiles_on_host(kWork, &tile, 1, &checksum);
      }
      const auto* first = memory.data() + start;
      results[by_device] = Result{{first, first + kMemory}, checksum};
    }
    EXPECT_TRUE(results[0] == results[1])
        << "from " << from << " to " << to << ", " << bytes << " of " << padded_bytes << " bytes";
  }

 private:
  static std::size_t align(const std::vector<std::byte>& memory) {
    return (16 - reinterpret_cast<std::uintptr_t>(memory.data()) % 16) % 16;
  }
  std::vector<std::byte> source_;
};

constexpr std::int32_t kLengths[] = {0,  1,    2,    15,   16,    17,    31,    33,
                                     64, 4095, 4097, 8191, 16400, 65520, 65535, 65536};

TEST_F(TileKernels, PackFromAnyAlignment) {
  for (std::size_t from = 0; from < 16; ++from) {
    for (const std::int32_t bytes : kLengths) {
      compare<TileWork::kPack>(from, 32, bytes, (bytes + 15) / 16 * 16);
    }
  }
  compare<TileWork::kPack>(0, 16, 5, 65536);  // zeros for the rest of the tile
}

TEST_F(TileKernels, ChecksumOfAnyLength) {
  for (const std::int32_t bytes : kLengths) {
    compare<TileWork::kChecksum>(16, 0, bytes / 16 * 16, 0);
  }
}

TEST_F(TileKernels, UnpackBetweenAnyAlignments) {
  for (std::size_t from = 0; from < 16; ++from) {
    for (std::size_t to = 0; to < 16; ++to) {
      for (const std::int32_t bytes : {1, 7, 16, 30, 47, 5000}) {
        compare<TileWork::kUnpack>(from, to, bytes, 0);
      }
    }
  }
  compare<TileWork::kUnpack>(3, 5, 65536, 0);
}

}  // namespace
}  // namespace routepack::shuffle
