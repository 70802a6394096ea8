// main() of a benchmark that runs over MPI.
#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <cstdio>
#include <exception>

#include "comm/communicator.hpp"

namespace routepack::testing {

// run(argc, argv, world) between MPI's start and end; its result is the exit status. What it throws
// becomes a line of the root and status 1.
template <class Run>
[[nodiscard]] int run_mpi_bench(int argc, char** argv, const Run& run) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int status = 0;
  {
    const comm::Communicator world(MPI_COMM_WORLD);
    try {
      status = run(argc, argv, world);
    } catch (const std::exception& error) {
      if (world.is_root()) {
        fmt::print(stderr, "{}: {}\n", argv[0], error.what());
      }
      status = 1;
    }
  }
  MPI_Finalize();
  return status;
}

}  // namespace routepack::testing
