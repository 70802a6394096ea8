// The kernels behind DeviceApi::run_tiles.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "shuffle/copy_tiles.hpp"

namespace routepack {

// The same arguments as run_tiles_on_host, in memory that the current device reaches, and a stream.
// Returns the error of the launch.
[[nodiscard]] cudaError_t launch_tiles(
    TileWork work,
    const CopyTile* tiles,
    std::int64_t num_tiles,
    std::uint64_t* checksums,
    cudaStream_t stream
);

}  // namespace routepack
