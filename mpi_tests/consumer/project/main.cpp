// Runs the step under MPI, whether it is linked statically or from a shared library.
#include <mpi.h>

#include <cstdio>
#include <exception>

#include "step.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 1;
  try {
    status = plan_and_move(MPI_COMM_WORLD) ? 0 : 1;
  } catch (const std::exception& error) {
    std::printf("consumer: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
