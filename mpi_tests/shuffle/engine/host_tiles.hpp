// What the kernels behind DeviceApi::run_tiles do, on the host: for devices that are none, and to
// compare the kernels' code with.
#pragma once

#include <cstdint>

#include "shuffle/engine/copy_tiles.hpp"

namespace routepack::testing {

void run_tiles_on_host(
    shuffle::TileWork work,
    const shuffle::CopyTile* tiles,
    std::int64_t num_tiles,
    std::uint64_t* checksums
);

}  // namespace routepack::testing
