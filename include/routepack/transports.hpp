// Makes the transports of routepack/weights.hpp.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>

#include "routepack/weights.hpp"

namespace routepack {

struct TransportDeleter {
  void operator()(Transport* transport) const;
};
using TransportHandle = std::unique_ptr<Transport, TransportDeleter>;

// Collective. Host memory, over duplicates of `comm`, which must outlive nothing: it may be freed
// by the caller afterwards. MPI must not be finalized before the handle is gone.
[[nodiscard]] TransportHandle make_mpi_transport(MPI_Comm comm);

enum class TransportKind {
  kMpi,   // host memory
  kNccl,  // device memory; USAGE, on all ranks, unless every rank has NCCL and a device
  kAuto,  // NCCL if every rank can, else MPI
};

struct TransportChoice {
  TransportHandle transport;
  std::string name;               // "mpi" or "nccl"
  Memory memory = Memory::kHost;  // where tensors must lie
  std::string why_not_nccl;       // names the lowest rank that could not; empty with NCCL
};

// Collective; the same choice on all ranks. NCCL gets a communicator of its own on this rank's
// `device`, where the tensors lie; by default the ranks of a node take its devices in turn. Where
// all have a device but NCCL does not come up, kAuto gives MPI through host buffers for device
// memory. Whoever wrote tensors on a device must have waited for it before a shuffle begins, and
// may go on when it returns. Throws INPUT_DISAGREEMENT where ranks ask for different kinds.
[[nodiscard]] TransportChoice make_transport(
    TransportKind kind, MPI_Comm comm, std::optional<int> device = std::nullopt
);

}  // namespace routepack
