// Makes the transports of routepack/weights.hpp.
#pragma once

#include <mpi.h>

#include <memory>

#include "routepack/weights.hpp"

namespace routepack {

struct TransportDeleter {
  void operator()(Transport* transport) const;
};
using TransportHandle = std::unique_ptr<Transport, TransportDeleter>;

// Collective. Host memory, over duplicates of `comm`, which must outlive nothing: it may be freed
// by the caller afterwards. MPI must not be finalized before the handle is gone.
[[nodiscard]] TransportHandle make_mpi_transport(MPI_Comm comm);

}  // namespace routepack
