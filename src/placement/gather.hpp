// Placement by all ranks together: layers dealt over them, results on every one.
#pragma once

#include <cstdint>

#include "comm/communicator.hpp"
#include "placement/place_all.hpp"

namespace routepack {

// Collective. Every rank passes the same problem (the all-reduced demand), effort and seed. Layer l
// is placed by rank l mod ranks; slots travel as u16. The same result at any number of ranks and
// threads. Throws what validate_problem does.
[[nodiscard]] PlacementResult place_experts(
    const PlacementProblem& problem,
    const PlaceEffort& effort,
    std::uint64_t seed,
    const Communicator& comm
);

}  // namespace routepack
