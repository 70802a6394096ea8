// Programs that were meant to be the ranks of one MPI job, but came up alone: srun without PMIx, or
// the mpirun of another MPI, starts N jobs of one rank that do the same work and write the same
// files.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "comm/communicator.hpp"

namespace routepack::cli {

// What the environment says about the tasks that were started together, against MPI.
struct StrangeStart {
  std::string variable;  // with its value, e.g. "SLURM_NTASKS=4"
  int task = 0;          // the number of this one; 0 where that is not known
};

// The value of an environment variable, or null.
using Environment = std::function<const char*(const char* name)>;

// Empty where MPI has as many ranks as the innermost launcher started. Slurm's variables count
// within a step only: a batch script runs alone although SLURM_NTASKS says more.
[[nodiscard]] std::optional<StrangeStart> find_strange_start(
    const Environment& environment, int num_mpi_ranks
);

// Collective. Warns on stderr, from the root; throws USAGE on every rank where one of several such
// programs, and not the first, is to write a file.
void check_launch(bool writes_output, const comm::Communicator& comm);

}  // namespace routepack::cli
