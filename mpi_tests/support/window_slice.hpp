// A window in memory, cut as load_window cuts a folder.
#pragma once

#include "comm/communicator.hpp"
#include "routepack/window.hpp"

namespace routepack::testing {

// The part of the window that falls to this rank.
inline WindowSlice slice_of(const WindowSlice& window, const Communicator& comm) {
  const Share share = share_of(window.num_local(), comm.mpi_rank(), comm.num_mpi_ranks());
  const auto row =
      static_cast<std::ptrdiff_t>(window.shape.num_moe_layers() * window.shape.num_experts);
  WindowSlice slice;
  slice.shape = window.shape;
  slice.first_sample = share.begin;
  slice.lengths.assign(window.lengths.begin() + share.begin, window.lengths.begin() + share.end);
  slice.demand.assign(
      window.demand.begin() + share.begin * row, window.demand.begin() + share.end * row
  );
  return slice;
}

}  // namespace routepack::testing
