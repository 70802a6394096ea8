// Layouts to start a search from: different in kind, all valid, balanced in attention work.
#pragma once

#include <cstdint>

#include "packing/lengths.hpp"
#include "random/stream.hpp"
#include "routepack/layout.hpp"
#include "routepack/topology.hpp"

namespace routepack {

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
  std::int64_t max_exchanges = 4'000'000;              // looked at by each descent
};

// A valid layout of num_rows rows: under the capacity, no cell empty. A kind that cannot be brought
// under the capacity rearranges the feasible layout instead (the random kinds after random swaps).
// kKarmarkarKarp: where largest differencing respects the capacity, no cell has more work than its
// largest part. Random kinds draw from `stream`, steps from 0 on.
[[nodiscard]] CellLayout make_start_layout(
    StartKind kind, const StartProblem& problem, const Stream& stream
);

}  // namespace routepack
