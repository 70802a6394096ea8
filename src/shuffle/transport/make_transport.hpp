// Chooses the transport that all ranks can use, over given libraries.
#pragma once

#include "routepack/transports.hpp"
#include "shuffle/transport/nccl_api.hpp"

namespace routepack::shuffle {

// As make_transport in routepack/transports.hpp. NCCL has `setup_seconds` to come up.
[[nodiscard]] TransportChoice choose_transport(
    TransportKind kind,
    MPI_Comm parent,
    const DeviceLibraries& libraries,
    std::optional<int> device = std::nullopt,
    double setup_seconds = 120.0
);

}  // namespace routepack::shuffle
