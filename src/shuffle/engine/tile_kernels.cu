// A thread block a tile.
#include <cuda_runtime_api.h>

#include "shuffle/engine/device_api.hpp"
#include "shuffle/engine/tile_kernels.cuh"

namespace routepack::shuffle {
namespace {

template <TileWork kWork>
__global__ void __launch_bounds__(kThreads)
    run_tile(const CopyTile* tiles, std::uint64_t* checksums) {
  const CopyTile tile = tiles[blockIdx.x];
  run_tile_thread<kWork>(tile, checksums);
}

}  // namespace

DeviceResult launch_tiles(
    TileWork work,
    const CopyTile* tiles,
    std::int64_t num_tiles,
    std::uint64_t* checksums,
    DeviceStream stream
) {
  if (num_tiles == 0) {
    return DeviceResult::kSuccess;
  }
  const auto num_blocks = static_cast<unsigned>(num_tiles);
  const auto cuda_stream = reinterpret_cast<cudaStream_t>(stream);
  switch (work) {
    case TileWork::kPack:
      run_tile<TileWork::kPack><<<num_blocks, kThreads, 0, cuda_stream>>>(tiles, checksums);
      break;
    case TileWork::kChecksum:
      run_tile<TileWork::kChecksum><<<num_blocks, kThreads, 0, cuda_stream>>>(tiles, checksums);
      break;
    case TileWork::kUnpack:
      run_tile<TileWork::kUnpack><<<num_blocks, kThreads, 0, cuda_stream>>>(tiles, checksums);
      break;
  }
  return static_cast<DeviceResult>(cudaGetLastError());
}

}  // namespace routepack::shuffle
