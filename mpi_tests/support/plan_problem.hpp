// Small planning problems, whole or as the slice of a rank.
#pragma once

#include "comm/communicator.hpp"
#include "routepack/options.hpp"
#include "support/search_instance.hpp"

namespace routepack::testing {

// The part of the window that falls to this rank.
inline WindowSlice slice_of(const WindowSlice& window, const comm::Communicator& comm) {
  const comm::Share share =
      comm::share_of(window.num_local(), comm.mpi_rank(), comm.num_mpi_ranks());
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

inline PlanOptions options_for(const Topology& topology, std::int64_t capacity) {
  PlanOptions options;
  options.topology = topology;
  options.cost = {capacity, {{"full", 10.0, 5.0}}, 1.0};
  options.search.num_sweeps = 40;
  options.search.num_chains = 3;
  return options;
}

}  // namespace routepack::testing
