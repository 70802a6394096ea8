// Layouts to start a search from: different in kind, all valid, balanced in attention work.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/tuning.hpp"
#include "packing/cell_packing.hpp"
#include "packing/lengths.hpp"
#include "random/stream.hpp"
#include "routepack/layout.hpp"
#include "routepack/topology.hpp"

namespace routepack::packing {

enum class StartKind {
  kPacked,         // the feasible layout, levelled
  kKarmarkarKarp,  // equal work by largest differencing, then under the capacity
  kShuffledFit,    // longest first with a perturbed order, into the cell of least work with room
  kRandomBestFit,  // longest first, into the tightest of a few cells drawn at random
};

struct StartProblem {
  IndexVector<SampleId, std::int64_t> padded_lengths;  // tokens
  std::int64_t capacity_tokens = 0;
  Topology topology;
  int num_rows = 0;
  IndexVector<SampleId, std::int64_t> attention_work;  // fixed point, >= 0, one a sample
  CellLayout feasible;                                 // num_rows * dp valid cells
  domain::Tuning::Starts tuning = {};
};

// A valid layout of num_rows rows: under the capacity, no cell empty. A kind that cannot be brought
// under the capacity rearranges the feasible layout instead (the random kinds after random swaps).
// kKarmarkarKarp: where largest differencing respects the capacity, no cell has more work than its
// largest part. Random kinds draw from `stream`, steps from 0 on.
[[nodiscard]] CellLayout make_start_layout(
    StartKind kind, const StartProblem& problem, const random::Stream& stream
);

// Cells by attention work descending, ties by id.
[[nodiscard]] std::vector<CellId> heaviest_cells_first(const CellContents& contents);

// Cells by attention work descending, dp_per_shard consecutive ones to a block: for given cells and
// one stage that minimizes the sum of the blocks' maxima. Blocks go to shards, num_rows to each, so
// that the shards' sums of maxima are about equal: largest first onto the lightest shard that has
// room, then at most so many swaps with the heaviest shard. Ties: lower cell.
[[nodiscard]] CellLayout arrange_blocks(
    const CellContents& contents, const Topology& topology, int num_rows, int max_swaps
);

}  // namespace routepack::packing
