// Full evaluation of a layout and a placement: the oracle of the incremental one, and what a plan
// reports. Exact int64 sums first; they become a cost in compute_metrics, in one order.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/cell_rules.hpp"
#include "objective/search_problem.hpp"
#include "routepack/layout.hpp"
#include "routepack/placement.hpp"
#include "routepack/plan.hpp"
#include "routepack/window.hpp"

namespace routepack::objective {

// Padded lengths of every cell, summed.
struct CellSums {
  IndexVector<CellId, std::int64_t> tokens;          // Σ len
  IndexVector<CellId, std::int64_t> squared_tokens;  // Σ len²
};

// Throws NUMBER_OUT_OF_RANGE where the squared lengths of a cell within the capacity might not fit
// 64 bits: before a long search rather than after it.
void check_squared_lengths(
    const IndexVector<SampleId, std::int64_t>& padded_lengths, std::int64_t capacity_tokens
);

// Throws NUMBER_OUT_OF_RANGE where a sum of squares does not fit 64 bits.
[[nodiscard]] CellSums sum_cells(
    const CellLayout& layout, const IndexVector<SampleId, std::int64_t>& padded_lengths
);

// Routed pairs [blocks, L, ep] of the slice's samples. Summed over all slices they are the W of
// the cost model, with block = row * edp + shard.
[[nodiscard]] std::vector<std::int64_t> sum_block_loads(
    const WindowSlice& slice,
    const CellLayout& layout,
    const Placement& placement,
    const Topology& topology
);

// Every figure of a policy. `block_loads` [blocks, L, ep] of the whole window's samples; what fills
// the cells up is added here.
[[nodiscard]] PolicyMetrics compute_metrics(
    const CellSums& cells,
    std::vector<std::int64_t> block_loads,
    int num_moe_layers,
    const Topology& topology,
    const CostModel& cost,
    const domain::CellRules& rules = {}
);

}  // namespace routepack::objective
