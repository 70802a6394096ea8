#include "planner/polish.hpp"

#include <algorithm>
#include <vector>

#include "objective/search_state.hpp"
#include "placement/place_layer.hpp"

namespace routepack {
namespace {

// New block of every block: shards by a partition with equal counts, as experts on EP ranks.
std::vector<BlockId> partition_blocks(const SearchProblem& problem, const SearchState& state) {
  const int edp = problem.topology.edp();
  const int num_blocks = problem.num_blocks();
  std::vector<std::int64_t> cost;
  LayerPlacement current{static_cast<std::size_t>(num_blocks)};
  for (const BlockId block : ids<BlockId>(num_blocks)) {
    cost.push_back(state.block_cost(block));
    const int row = block.value() / edp;
    current[ExpertId{block.value()}] =
        SlotId{problem.shard_of(block).value() * problem.num_rows + row};
  }
  const Stream random{0, Purpose::kPlacement, 0};
  const LayerResult dealt = place_layer(cost, edp, &current, {}, random);
  std::vector<std::vector<BlockId>> blocks_of_shard(static_cast<std::size_t>(edp));
  for (const BlockId block : ids<BlockId>(num_blocks)) {
    const int shard = dealt.slots[ExpertId{block.value()}].value() / problem.num_rows;
    blocks_of_shard[static_cast<std::size_t>(shard)].push_back(block);
  }
  std::vector<BlockId> target(static_cast<std::size_t>(num_blocks));
  for (int shard = 0; shard < edp; ++shard) {
    std::vector<BlockId>& blocks = blocks_of_shard[static_cast<std::size_t>(shard)];
    std::stable_sort(blocks.begin(), blocks.end(), [&](BlockId x, BlockId y) {
      return state.block_cost(x) > state.block_cost(y);
    });
    for (int row = 0; row < problem.num_rows; ++row) {
      target[blocks[static_cast<std::size_t>(row)].offset()] = BlockId{row * edp + shard};
    }
  }
  return target;
}

}  // namespace

CellLayout deal_blocks(const SearchProblem& problem, const CellLayout& layout) {
  const SearchState state(problem, layout, SimdLevel::kPortable);
  const std::vector<BlockId> target = partition_blocks(problem, state);
  const int per_block = problem.topology.dp_per_shard();
  CellLayout dealt = layout;
  for (const BlockId block : ids<BlockId>(problem.num_blocks())) {
    std::vector<CellId> cells;
    for (int position = 0; position < per_block; ++position) {
      cells.push_back(CellId{block.value() * per_block + position});
    }
    const auto lowest = [&](CellId cell) {
      return *std::ranges::min_element(state.samples_of(cell));
    };
    std::ranges::sort(cells, [&](CellId x, CellId y) { return lowest(x) < lowest(y); });
    for (int position = 0; position < per_block; ++position) {
      const CellId to{target[block.offset()].value() * per_block + position};
      for (const SampleId sample : state.samples_of(cells[static_cast<std::size_t>(position)])) {
        dealt.cell_of_sample[sample] = to;
      }
    }
  }
  return dealt;
}

}  // namespace routepack
