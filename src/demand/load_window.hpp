// Reads a window on all ranks, each its own consecutive samples.
#pragma once

#include <string>

#include "comm/communicator.hpp"
#include "routepack/window.hpp"

namespace routepack {

// Collective. The slices of all ranks are the window, whatever their number. Throws the same
// error on every rank: a fault of the folder's metadata, NUMBER_OUT_OF_RANGE where a node's memory
// cannot hold its ranks' demand, FILE_MALFORMED where a file changes meanwhile, else the fault of
// the first faulty sample.
[[nodiscard]] WindowSlice load_window(const std::string& folder, const Communicator& comm);

}  // namespace routepack
