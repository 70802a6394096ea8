// Descents on a layout by moves and exchanges of samples: first under the capacity, then towards
// equal attention work. Budgets count the exchanges looked at.
#pragma once

#include <cstdint>

#include "domain/tuning.hpp"
#include "packing/cell_packing.hpp"

namespace routepack::packing {

// Moves and swaps the tokens above the capacity away, the largest reduction first; of equal ones
// the one that levels the work most. Never empties a cell. True when no cell is above the capacity.
bool repair_capacity_in_place(
    CellContents& contents, std::int64_t capacity_tokens, std::int64_t max_exchanges
);

struct LevelingGoal {
  IndexVector<CellId, std::int64_t> target_work;
  std::int64_t max_work = 0;  // no cell is raised above it
};

// Takes work from the cells most above their target to those most below: moves of a sample,
// exchanges of one for one and of one for two, each lowering the larger excess of its two cells.
// Keeps the capacity and never empties a cell.
void level_work_in_place(
    CellContents& contents,
    std::int64_t capacity_tokens,
    const LevelingGoal& goal,
    const domain::Tuning::Starts& tuning
);

}  // namespace routepack::packing
