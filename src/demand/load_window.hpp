// Reads a window on all ranks, each its own consecutive samples.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "demand/count.hpp"
#include "io/window_reader.hpp"
#include "routepack/window.hpp"

namespace routepack::demand {

// Which consecutive samples each rank counts: `num_parts` ranges that cover all samples in order,
// some possibly empty, about equal in bytes to read and write. A pure function of its arguments.
[[nodiscard]] std::vector<SampleRange> slice_samples(const io::WindowHeader& header, int num_parts);

// Collective. The slices of all ranks are the window, whatever their number. `folder` may be
// another path on each rank, with a copy of the window. Throws the same error on every rank: a
// fault of the folder's metadata, INPUT_DISAGREEMENT where the ranks see different windows,
// NUMBER_OUT_OF_RANGE where a node's memory cannot hold its ranks' demand, FILE_MALFORMED where a
// file changes meanwhile, else the fault of the first faulty sample. `check_shape` may refuse the
// window by throwing, before its demand is read.
[[nodiscard]] WindowSlice load_window(
    const std::string& folder,
    const comm::Communicator& comm,
    const std::function<void(const WindowShape&)>& check_shape = {}
);

}  // namespace routepack::demand
