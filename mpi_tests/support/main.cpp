// main() of every MPI test program.
#include <gtest/gtest.h>
#include <mpi.h>

#include "support/mpi_listener.hpp"

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  ::testing::InitGoogleTest(&argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) {
    delete listeners.Release(listeners.default_result_printer());
  }
  listeners.Append(new routepack::testing::MpiListener);
  const int failed = RUN_ALL_TESTS();
  MPI_Finalize();
  return failed;
}
