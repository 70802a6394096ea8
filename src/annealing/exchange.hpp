// Where the chains live, and their moves between MPI ranks after a resampling.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "comm/communicator.hpp"
#include "objective/search_problem.hpp"
#include "routepack/ids.hpp"
#include "routepack/layout.hpp"

namespace routepack::annealing {

// MPI rank of every chain.
using ChainOwners = IndexVector<ChainId, std::int32_t>;

// Chains dealt over ranks in blocks of consecutive ids, counts differing by at most one.
[[nodiscard]] ChainOwners deal_chains(int num_chains, int num_mpi_ranks);

// New owners after a resampling: children stay with their parent, and only as many chains move as
// it takes to level the ranks' counts to within one. A pure function, the same on every rank.
[[nodiscard]] ChainOwners level_owners(
    const IndexVector<ChainId, ChainId>& parents, const ChainOwners& owners, int num_mpi_ranks
);

// Collective. Sends every chain's parent layout to its new owner where that is another rank: the
// layouts that this rank must take over, by chain. `layouts` holds those of the local parents.
// A message is 4 bytes a sample.
[[nodiscard]] std::map<ChainId, CellLayout> exchange_layouts(
    const IndexVector<ChainId, ChainId>& parents,
    const ChainOwners& before,
    const ChainOwners& after,
    const std::map<ChainId, const CellLayout*>& layouts,
    const objective::SearchProblem& problem,
    const comm::Communicator& comm
);

}  // namespace routepack::annealing
