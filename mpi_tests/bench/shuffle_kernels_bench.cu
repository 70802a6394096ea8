// Rates of the shuffle's kernels against a device-to-device copy of the same bytes, on one device.
// Payload bytes a second; medians. Fails when a result is wrong: a fast wrong copy is no rate.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "shuffle/engine/device_api.hpp"

namespace routepack::shuffle {
namespace {

constexpr std::int64_t kBytes = std::int64_t{1} << 30U;
constexpr int kRepetitions = 21;

void require(cudaError_t result, const char* call) {
  if (result != cudaSuccess) {
    std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(result));
    std::exit(1);
  }
}
#define REQUIRE(call) require((call), #call)

double median_gigabytes(const std::function<void()>& work) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  REQUIRE(cudaEventCreate(&begin));
  REQUIRE(cudaEventCreate(&end));
  std::vector<double> rates;
  for (int n = 0; n < kRepetitions; ++n) {
    REQUIRE(cudaEventRecord(begin));
    work();
    REQUIRE(cudaEventRecord(end));
    REQUIRE(cudaEventSynchronize(end));
    float milliseconds = 0.0F;
    REQUIRE(cudaEventElapsedTime(&milliseconds, begin, end));
    rates.push_back(static_cast<double>(kBytes) / (1e6 * static_cast<double>(milliseconds)));
  }
  REQUIRE(cudaEventDestroy(begin));
  REQUIRE(cudaEventDestroy(end));
  std::nth_element(rates.begin(), rates.begin() + kRepetitions / 2, rates.end());
  return rates[kRepetitions / 2];
}

// Tiles over all bytes; source and target start so many bytes into their buffers.
std::vector<CopyTile> make_tiles(
    const std::byte* source, std::byte* target, std::int64_t from, std::int64_t to
) {
  std::vector<CopyTile> tiles;
  for (std::int64_t at = 0; at < kBytes; at += kTileBytes) {
    CopyTile tile;
    tile.source = source + from + at;
    tile.target = target + to + at;
    tile.first_word = static_cast<std::uint64_t>(at) / 8;
    tile.bytes = static_cast<std::int32_t>(kTileBytes);
    tile.padded_bytes = tile.bytes;
    tiles.push_back(tile);
  }
  return tiles;
}

struct Case {
  const char* name;
  TileWork work;
  std::int64_t from;  // misalignment of the source, bytes
  std::int64_t to;    // of the target
};

bool is_right(
    const Case& item,
    const std::vector<std::uint64_t>& source,
    const std::byte* target,
    const std::uint64_t* checksum
) {
  const auto* bytes = reinterpret_cast<const std::byte*>(source.data()) + item.from;
  if (item.work != TileWork::kChecksum) {
    std::vector<std::byte> arrived(kBytes);
    REQUIRE(cudaMemcpy(arrived.data(), target + item.to, kBytes, cudaMemcpyDefault));
    if (!std::equal(arrived.begin(), arrived.end(), bytes)) {
      return false;
    }
  }
  if (item.work == TileWork::kUnpack) {
    return true;
  }
  std::uint64_t expected = 0;
  for (std::int64_t n = 0; n < kBytes / 8; ++n) {
    std::uint64_t word = 0;
    std::copy_n(bytes + 8 * n, 8, reinterpret_cast<std::byte*>(&word));
    expected += checksum_term(word, static_cast<std::uint64_t>(n));
  }
  std::uint64_t sum = 0;
  REQUIRE(cudaMemcpy(&sum, checksum, sizeof(sum), cudaMemcpyDefault));
  return sum == expected;
}

int run() {
  std::vector<std::uint64_t> content(kBytes / 8 + 8);
  for (std::size_t n = 0; n < content.size(); ++n) {
    content[n] = checksum_term(n, 1);
  }
  std::byte* source = nullptr;
  std::byte* target = nullptr;
  CopyTile* tiles = nullptr;
  std::uint64_t* checksum = nullptr;
  REQUIRE(cudaMalloc(&source, kBytes + 64));
  REQUIRE(cudaMalloc(&target, kBytes + 64));
  REQUIRE(cudaMalloc(&tiles, kBytes / kTileBytes * sizeof(CopyTile)));
  REQUIRE(cudaMalloc(&checksum, sizeof(*checksum)));
  REQUIRE(cudaMemcpy(source, content.data(), kBytes + 64, cudaMemcpyDefault));
  const double copy = median_gigabytes([&] {
    REQUIRE(cudaMemcpyAsync(target, source, kBytes, cudaMemcpyDeviceToDevice));
  });
  std::printf("%-28s %8.1f GB/s\n", "device copy", copy);
  const Case cases[] = {
      {"pack + checksum", TileWork::kPack, 0, 0},
      {"pack + checksum, 4 off", TileWork::kPack, 4, 0},
      {"pack + checksum, 2 off", TileWork::kPack, 2, 0},
      {"pack + checksum, 1 off", TileWork::kPack, 1, 0},
      {"checksum", TileWork::kChecksum, 0, 0},
      {"unpack", TileWork::kUnpack, 0, 0},
      {"unpack, 4 off", TileWork::kUnpack, 0, 4},
      {"unpack, 1 off", TileWork::kUnpack, 0, 1}};
  int num_wrong = 0;
  for (const Case& item : cases) {
    const std::vector<CopyTile> host = make_tiles(source, target, item.from, item.to);
    REQUIRE(cudaMemcpy(tiles, host.data(), host.size() * sizeof(CopyTile), cudaMemcpyDefault));
    const auto launch = [&] {
      const auto num_tiles = static_cast<std::int64_t>(host.size());
      const DeviceResult result = launch_tiles(item.work, tiles, num_tiles, checksum, nullptr);
      require(static_cast<cudaError_t>(result), "launch_tiles");
    };
    REQUIRE(cudaMemset(target, 0, kBytes + 64));
    REQUIRE(cudaMemset(checksum, 0, sizeof(*checksum)));
    launch();
    REQUIRE(cudaDeviceSynchronize());
    const bool right = is_right(item, content, target, checksum);
    num_wrong += right ? 0 : 1;
    const double rate = median_gigabytes(launch);
    std::printf(
        "%-28s %8.1f GB/s  %5.1f %% of the copy%s\n", item.name, rate, 100.0 * rate / copy,
        right ? "" : "  WRONG RESULT"
    );
  }
  REQUIRE(cudaFree(source));
  REQUIRE(cudaFree(target));
  REQUIRE(cudaFree(tiles));
  REQUIRE(cudaFree(checksum));
  return num_wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace routepack::shuffle

int main() { return routepack::shuffle::run(); }
