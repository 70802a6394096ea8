#include "packing/arrange_blocks.hpp"

#include <algorithm>
#include <vector>

#include "base/check.hpp"

namespace routepack {
namespace {

// Blocks of one shard, at most num_rows; `peak` of a block: the largest work of its cells.
struct ShardBlocks {
  std::int64_t peak_sum = 0;
  std::vector<std::size_t> blocks;
};

std::vector<ShardBlocks> deal_blocks(
    const std::vector<std::int64_t>& peaks, std::size_t num_shards, std::size_t blocks_per_shard
) {
  std::vector<ShardBlocks> shards(num_shards);
  for (std::size_t block = 0; block < peaks.size(); ++block) {
    ShardBlocks* lightest = nullptr;
    for (ShardBlocks& shard : shards) {
      if (shard.blocks.size() < blocks_per_shard &&
          (lightest == nullptr || shard.peak_sum < lightest->peak_sum)) {
        lightest = &shard;
      }
    }
    lightest->blocks.push_back(block);
    lightest->peak_sum += peaks[block];
  }
  return shards;
}

// The swap between the heaviest shard and another that lowers the larger sum of the two most.
bool swap_once(std::vector<ShardBlocks>& shards, const std::vector<std::int64_t>& peaks) {
  const auto heaviest = std::max_element(
      shards.begin(), shards.end(),
      [](const ShardBlocks& a, const ShardBlocks& b) { return a.peak_sum < b.peak_sum; }
  );
  std::int64_t best_sum = heaviest->peak_sum;
  ShardBlocks* best_shard = nullptr;
  std::size_t* given = nullptr;
  std::size_t* taken = nullptr;
  for (ShardBlocks& shard : shards) {
    for (std::size_t& mine : heaviest->blocks) {
      for (std::size_t& theirs : shard.blocks) {
        const std::int64_t shift = peaks[mine] - peaks[theirs];
        const std::int64_t sum = std::max(heaviest->peak_sum - shift, shard.peak_sum + shift);
        if (shift > 0 && sum < best_sum) {
          best_sum = sum;
          best_shard = &shard;
          given = &mine;
          taken = &theirs;
        }
      }
    }
  }
  if (best_shard == nullptr) {
    return false;
  }
  const std::int64_t shift = peaks[*given] - peaks[*taken];
  std::swap(*given, *taken);
  heaviest->peak_sum -= shift;
  best_shard->peak_sum += shift;
  return true;
}

}  // namespace

std::vector<CellId> heaviest_cells_first(const CellContents& contents) {
  std::vector<CellId> order;
  for (const CellId cell : ids<CellId>(contents.num_cells())) {
    order.push_back(cell);
  }
  std::sort(order.begin(), order.end(), [&](CellId a, CellId b) {
    return contents.work(a) != contents.work(b) ? contents.work(a) > contents.work(b) : a < b;
  });
  return order;
}

CellLayout arrange_blocks(const CellContents& contents, const Topology& topology, int num_rows) {
  const auto per_block = static_cast<std::size_t>(topology.dp_per_shard());
  const auto num_shards = static_cast<std::size_t>(topology.edp());
  const auto blocks_per_shard = static_cast<std::size_t>(num_rows);
  RP_ASSERT(
      light, contents.num_cells() == num_rows * topology.dp, "{} cells for {} rows of {}",
      contents.num_cells(), num_rows, topology.dp
  );
  const std::vector<CellId> order = heaviest_cells_first(contents);
  std::vector<std::int64_t> peaks;
  for (std::size_t first = 0; first < order.size(); first += per_block) {
    peaks.push_back(contents.work(order[first]));
  }
  std::vector<ShardBlocks> shards = deal_blocks(peaks, num_shards, blocks_per_shard);
  constexpr int kMaxSwaps = 200;
  for (int swaps = 0; swaps < kMaxSwaps && swap_once(shards, peaks); ++swaps) {
  }

  IndexVector<CellId, CellId> new_cell{order.size()};
  for (std::size_t shard = 0; shard < num_shards; ++shard) {
    std::sort(shards[shard].blocks.begin(), shards[shard].blocks.end());
    for (std::size_t row = 0; row < blocks_per_shard; ++row) {
      const std::size_t first_old = shards[shard].blocks[row] * per_block;
      const std::size_t first_new = (row * num_shards + shard) * per_block;
      for (std::size_t n = 0; n < per_block; ++n) {
        new_cell[order[first_old + n]] = CellId{first_new + n};
      }
    }
  }
  CellLayout layout{num_rows, topology.dp, contents.cell_of_sample()};
  for (CellId& cell : layout.cell_of_sample) {
    cell = new_cell[cell];
  }
  return layout;
}

}  // namespace routepack
