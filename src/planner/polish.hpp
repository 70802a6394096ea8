// The last touch: which shard and row each block gets. Costs of blocks do not change.
#pragma once

#include "domain/tuning.hpp"
#include "objective/search_problem.hpp"
#include "routepack/layout.hpp"

namespace routepack::planner {

// A block's cost does not depend on its position, so dealing blocks to shards is a balanced
// partition: every shard gets num_rows blocks, the largest sum is made small (never larger than
// it was). Then canonical order: in a shard the costliest block first, cells by lowest sample id.
// Where DP slots hold equal numbers of samples, blocks stay in their shards and slots keep their
// samples.
[[nodiscard]] CellLayout deal_blocks(
    const objective::SearchProblem& problem,
    const CellLayout& layout,
    const domain::Tuning::Aggregate& tuning = {}
);

}  // namespace routepack::planner
