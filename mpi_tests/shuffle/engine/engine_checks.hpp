// What an engine for device memory must do, whatever the device is. Reports to GoogleTest.
#pragma once

#include "shuffle/engine/copy_engine.hpp"

namespace routepack::testing {

// Segments of every alignment of the source and many lengths, gaps and trailers, against bytes put
// together on the host.
void check_packing(shuffle::CopyEngine& engine);
// More slices and more tiles than the engine holds at once.
void check_many_slices(shuffle::CopyEngine& engine);
// Every alignment of source and target against each other; nothing else is written.
void check_unpacking(shuffle::CopyEngine& engine);
// Every bit of a payload counts, and so does its length.
void check_damage_is_seen(shuffle::CopyEngine& engine);

}  // namespace routepack::testing
