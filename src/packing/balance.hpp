// Descents on a layout by moves and exchanges of samples: first under the capacity, then towards
// equal attention work. Budgets count the exchanges looked at.
#pragma once

#include <cstdint>

#include "packing/cell_contents.hpp"

namespace routepack {

// Moves and swaps the tokens above the capacity away, the largest reduction first; of equal ones
// the one that levels the work most. Never empties a cell. True when no cell is above the capacity.
bool repair_capacity_in_place(
    CellContents& contents, std::int64_t capacity_tokens, std::int64_t max_exchanges
);

// Takes work from heavy cells to light ones: moves of a sample, exchanges of one for one and of one
// for two, each lowering the larger work of its two cells. Keeps the capacity and never empties a
// cell, so the largest work of any cell never grows.
void level_work_in_place(
    CellContents& contents, std::int64_t capacity_tokens, std::int64_t max_exchanges
);

}  // namespace routepack
