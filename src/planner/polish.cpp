#include "planner/polish.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "objective/search_state.hpp"
#include "placement/aggregate/place_layer.hpp"

namespace routepack::planner {
namespace {

// Shard of every block: a partition with equal counts.
std::vector<std::vector<BlockId>> partition_blocks(
    const objective::SearchProblem& problem,
    const objective::SearchState& state,
    const domain::Tuning::Aggregate& tuning
) {
  std::vector<std::int64_t> cost;
  std::vector<std::int32_t> current;
  for (const BlockId block : ids<BlockId>(problem.num_blocks())) {
    cost.push_back(state.block_cost(block));
    current.push_back(problem.shard_of(block).value());
  }
  const int edp = problem.topology.edp();
  const std::vector<std::int32_t> shards =
      placement::partition_evenly(cost, current, edp, tuning, {0, random::Purpose::kPlacement, 0});
  std::vector<std::vector<BlockId>> blocks_of_shard(static_cast<std::size_t>(edp));
  for (const BlockId block : ids<BlockId>(problem.num_blocks())) {
    blocks_of_shard[static_cast<std::size_t>(shards[block.offset()])].push_back(block);
  }
  return blocks_of_shard;
}

std::vector<std::vector<BlockId>> present_shards(const objective::SearchProblem& problem) {
  std::vector<std::vector<BlockId>> blocks(static_cast<std::size_t>(problem.topology.edp()));
  for (const BlockId block : ids<BlockId>(problem.num_blocks())) {
    blocks[problem.shard_of(block).offset()].push_back(block);
  }
  return blocks;
}

// New block of every block: in a shard the costliest is in the first row.
std::vector<BlockId> order_blocks(
    const objective::SearchProblem& problem,
    const objective::SearchState& state,
    std::vector<std::vector<BlockId>> blocks_of_shard
) {
  const int edp = problem.topology.edp();
  std::vector<BlockId> target(static_cast<std::size_t>(problem.num_blocks()));
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

// New position in its block of every DP slot of a shard, the same in all rows.
std::vector<int> order_slots(
    const objective::SearchProblem& problem, const objective::SearchState& state, EdpShard shard
) {
  const int per_block = problem.cells_per_block;
  std::vector<SampleId> lowest(
      static_cast<std::size_t>(per_block), SampleId{problem.num_samples()}
  );
  for (int row = 0; row < problem.num_rows; ++row) {
    const int block = row * problem.num_shards + shard.value();
    for (int position = 0; position < per_block; ++position) {
      SampleId& found = lowest[static_cast<std::size_t>(position)];
      const CellId cell{block * per_block + position};
      found = std::min(found, *std::ranges::min_element(state.samples_of(cell)));
    }
  }
  std::vector<int> order(lowest.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](int x, int y) {
    return lowest[static_cast<std::size_t>(x)] < lowest[static_cast<std::size_t>(y)];
  });
  std::vector<int> target(order.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    target[static_cast<std::size_t>(order[place])] = static_cast<int>(place);
  }
  return target;
}

// Slots keep their samples: a block stays in its shard, and cells change places as whole slots.
CellLayout deal_rows(const objective::SearchProblem& problem, const CellLayout& layout) {
  const objective::SearchState state(problem, layout, SimdLevel::kPortable);
  const std::vector<BlockId> target = order_blocks(problem, state, present_shards(problem));
  const int per_block = problem.cells_per_block;
  std::vector<std::vector<int>> place_of_shard;
  for (const EdpShard shard : ids<EdpShard>(problem.num_shards)) {
    place_of_shard.push_back(order_slots(problem, state, shard));
  }
  CellLayout dealt = layout;
  for (const BlockId block : ids<BlockId>(problem.num_blocks())) {
    const std::vector<int>& place = place_of_shard[problem.shard_of(block).offset()];
    for (int position = 0; position < per_block; ++position) {
      const CellId from{block.value() * per_block + position};
      const CellId to{
          target[block.offset()].value() * per_block + place[static_cast<std::size_t>(position)]};
      for (const SampleId sample : state.samples_of(from)) {
        dealt.cell_of_sample[sample] = to;
      }
    }
  }
  return dealt;
}

}  // namespace

CellLayout deal_blocks(
    const objective::SearchProblem& problem,
    const CellLayout& layout,
    const domain::Tuning::Aggregate& tuning
) {
  if (problem.rules.equal_slots) {
    return deal_rows(problem, layout);
  }
  const objective::SearchState state(problem, layout, SimdLevel::kPortable);
  const std::vector<BlockId> target =
      order_blocks(problem, state, partition_blocks(problem, state, tuning));
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

}  // namespace routepack::planner
