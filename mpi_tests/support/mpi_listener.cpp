#include "support/mpi_listener.hpp"

#include <mpi.h>

#include <cstdio>

namespace routepack::testing {

void MpiListener::OnTestPartResult(const ::testing::TestPartResult& result) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (result.failed() && rank != 0) {  // rank 0 has the printer
    std::fprintf(
        stderr, "[rank %d] %s:%d: %s\n", rank,
        result.file_name() != nullptr ? result.file_name() : "?", result.line_number(),
        result.summary()
    );
  }
}

void MpiListener::OnTestEnd(const ::testing::TestInfo& info) {
  const int mine = info.result()->Failed() ? 1 : 0;
  int any = 0;
  MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (any != 0 && mine == 0) {
    ADD_FAILURE() << "the test failed on another rank";
  }
}

}  // namespace routepack::testing
