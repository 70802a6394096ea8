// Ranks may see different folders under one name: stale caches, copies on each node.
#pragma once

#include "comm/communicator.hpp"
#include "io/window_reader.hpp"

namespace routepack {

// Collective. Throws INPUT_DISAGREEMENT on every rank, naming the file, both values and the two
// ranks, unless all have opened the same window: metadata (but for name and source), lengths,
// groups and row offsets whole, the large array by its size and blocks of its bytes. Paths may
// differ. FILE_MALFORMED instead where a file changes between the ranks' looks at it.
void agree_on_window(const WindowHeader& header, const Communicator& comm);

}  // namespace routepack
