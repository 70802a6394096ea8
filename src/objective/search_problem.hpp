// What the search sees: every cost as an exact 64-bit integer. The only rounding happens here,
// once a sample, so that costs do not depend on the order in which samples came and went.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/cell_rules.hpp"
#include "domain/demand.hpp"
#include "routepack/cost.hpp"
#include "routepack/ids.hpp"
#include "routepack/topology.hpp"

namespace routepack::objective {

// Integer score, compared like Score: (max over shards, sum over shards).
struct SearchScore {
  std::int64_t max_shard = 0;
  std::int64_t sum_shards = 0;
  auto operator<=>(const SearchScore&) const = default;
};

struct SearchProblem {
  Topology topology;
  int num_rows = 0;
  domain::CellRules rules;
  IndexVector<SampleId, std::int64_t> lengths;  // padded tokens
  domain::ProjectedDemandView demand;
  IndexVector<SampleId, std::int64_t> routed_pairs;  // of one layer: the same at each
  int num_stages = 0;
  std::vector<std::int64_t> attention;       // [N, num_stages] units
  std::vector<std::int64_t> fill_attention;  // [num_stages] units of a fill token
  std::int64_t pair_cost = 0;                // units of one routed pair at the peak EP rank
  double units_per_cost = 1.0;               // cost * units_per_cost = units
  // Of the topology and the rows, at hand: a move asks for them many times, and divisions are slow.
  int num_shards = 0;       // edp
  int cells_per_block = 0;  // dp_per_shard
  IndexVector<CellId, BlockId> block_of_cell;
  IndexVector<BlockId, EdpShard> shard_of_block;
  IndexVector<CellId, DpSlot> slot_of_cell;

  [[nodiscard]] int num_samples() const { return static_cast<int>(lengths.size()); }
  [[nodiscard]] int num_blocks() const { return num_rows * num_shards; }
  [[nodiscard]] int num_cells() const { return num_rows * topology.dp; }
  [[nodiscard]] EdpShard shard_of(BlockId block) const { return shard_of_block[block]; }
  [[nodiscard]] BlockId block_of(CellId cell) const { return block_of_cell[cell]; }
  [[nodiscard]] std::span<const std::int64_t> attention_of(SampleId sample) const {
    const auto stages = static_cast<std::size_t>(num_stages);
    return std::span<const std::int64_t>{attention}.subspan(sample.offset() * stages, stages);
  }
};

// Throws NUMBER_OUT_OF_RANGE where a block's demand does not fit 32 bits.
[[nodiscard]] SearchProblem make_search_problem(
    IndexVector<SampleId, std::int64_t> padded_lengths,
    const domain::ProjectedDemandView& demand,
    const Topology& topology,
    const CostModel& cost,
    const domain::CellRules& rules,
    int num_rows
);

}  // namespace routepack::objective
