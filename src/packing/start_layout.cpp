#include "packing/start_layout.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "packing/balance.hpp"
#include "packing/cell_packing.hpp"
#include "packing/karmarkar_karp.hpp"

namespace routepack::packing {
namespace {

// Steps of the stream, one a use.
enum DrawStep : std::uint32_t { kOrderStep, kCandidateStep, kSwapStep };

CellContents empty_contents(const StartProblem& problem) {
  return CellContents{
      problem.padded_lengths, problem.attention_work, problem.num_rows * problem.topology.dp};
}

CellContents contents_of(
    const StartProblem& problem, const IndexVector<SampleId, CellId>& cell_of_sample
) {
  CellContents contents = empty_contents(problem);
  for (const SampleId sample : ids<SampleId>(cell_of_sample.size())) {
    contents.put(sample, cell_of_sample[sample]);
  }
  return contents;
}

// Longest first, lengths scaled by a factor drawn from [0.75, 1].
std::vector<SampleId> perturbed_order(const StartProblem& problem, const random::Stream& stream) {
  std::vector<std::pair<double, SampleId>> keys;
  for (const SampleId sample : ids<SampleId>(problem.padded_lengths.size())) {
    const double factor = 1.0 - 0.25 * stream.at(kOrderStep, sample.offset()).unit(0);
    keys.emplace_back(-factor * static_cast<double>(problem.padded_lengths[sample]), sample);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<SampleId> order;
  for (const auto& [key, sample] : keys) {
    order.push_back(sample);
  }
  return order;
}

CellContents shuffled_fit(const StartProblem& problem, const random::Stream& stream) {
  CellContents contents = empty_contents(problem);
  std::set<std::pair<std::int64_t, CellId>> by_work;
  for (const CellId cell : ids<CellId>(contents.num_cells())) {
    by_work.emplace(0, cell);
  }
  for (const SampleId sample : perturbed_order(problem, stream)) {
    // The lightest cell with room; where none has, the lightest, for the repair to sort out.
    auto chosen = by_work.begin();
    while (chosen != by_work.end() &&
           contents.tokens(chosen->second) + problem.padded_lengths[sample] >
               problem.capacity_tokens) {
      ++chosen;
    }
    if (chosen == by_work.end()) {
      chosen = by_work.begin();
    }
    const CellId cell = chosen->second;
    by_work.erase(chosen);
    contents.put(sample, cell);
    by_work.emplace(contents.work(cell), cell);
  }
  return contents;
}

CellContents random_best_fit(const StartProblem& problem, const random::Stream& stream) {
  CellContents contents = empty_contents(problem);
  const auto num_cells = static_cast<std::uint32_t>(contents.num_cells());
  std::uint64_t draw = 0;
  for (const SampleId sample : longest_first(problem.padded_lengths)) {
    // The tightest candidate with room; where none has, the one with the fewest tokens.
    const std::int64_t free_tokens = problem.capacity_tokens - problem.padded_lengths[sample];
    std::optional<CellId> chosen;
    for (std::uint64_t n = 0; n < problem.tuning.candidates; ++n, ++draw) {
      const CellId cell{
          static_cast<std::int32_t>(stream.at(kCandidateStep, draw).below(0, num_cells))};
      const std::int64_t tokens = contents.tokens(cell);
      const std::int64_t kept = chosen ? contents.tokens(*chosen) : 0;
      const bool fits = tokens <= free_tokens;
      const bool kept_fits = chosen && kept <= free_tokens;
      if (!chosen || (fits && (!kept_fits || tokens > kept)) ||
          (!fits && !kept_fits && tokens < kept)) {
        chosen = cell;
      }
    }
    contents.put(sample, *chosen);
  }
  return contents;
}

// One sample for each empty cell: the shortest of the cells that hold two or more.
void fill_empty_cells_in_place(CellContents& contents, const PaddedLengths& padded) {
  const std::vector<SampleId> order = longest_first(padded);
  auto donor = order.rbegin();
  for (const CellId cell : ids<CellId>(contents.num_cells())) {
    if (!contents.samples(cell).empty()) {
      continue;
    }
    while (contents.samples(contents.cell_of(*donor)).size() < 2) {
      ++donor;
    }
    contents.move(*donor, cell);
  }
}

// Swaps of two samples that keep the capacity; partners are near in length, else few would.
void shuffle_in_place(
    CellContents& contents, const StartProblem& problem, const random::Stream& stream
) {
  const std::vector<SampleId> order = longest_first(problem.padded_lengths);
  const auto count = static_cast<std::uint32_t>(order.size());
  for (std::uint32_t n = 0; n < count; ++n) {
    const random::RandomBits draw = stream.at(kSwapStep, n);
    const std::uint32_t first = draw.below(0, count);
    const std::uint32_t second =
        std::min(count - 1, first + 1 + draw.below(1, problem.tuning.swap_reach));
    const SampleId longer = order[first];
    const SampleId shorter = order[second];
    const std::int64_t shift = contents.length_of(longer) - contents.length_of(shorter);
    const CellId receiver = contents.cell_of(shorter);
    if (receiver != contents.cell_of(longer) &&
        contents.tokens(receiver) + shift <= problem.capacity_tokens) {
      contents.swap(longer, shorter);
    }
  }
}

CellContents propose(StartKind kind, const StartProblem& problem, const random::Stream& stream) {
  switch (kind) {
    case StartKind::kPacked:
      return contents_of(problem, problem.feasible.cell_of_sample);
    case StartKind::kKarmarkarKarp:
      return contents_of(
          problem,
          partition_karmarkar_karp(problem.attention_work, problem.num_rows * problem.topology.dp)
      );
    case StartKind::kShuffledFit:
      return shuffled_fit(problem, stream);
    case StartKind::kRandomBestFit:
      return random_best_fit(problem, stream);
  }
  return empty_contents(problem);
}

std::int64_t largest_work(const CellContents& contents) {
  std::int64_t largest = 0;
  for (const CellId cell : ids<CellId>(contents.num_cells())) {
    largest = std::max(largest, contents.work(cell));
  }
  return largest;
}

LevelingGoal equal_goal(const CellContents& contents) {
  return {
      IndexVector<CellId, std::int64_t>{static_cast<std::size_t>(contents.num_cells()), 0},
      largest_work(contents)};
}

// Block b, of the cells by work descending, holds one of the b * D + 1 largest samples (D cells a
// block), so its maximum is at least that sample's work. Where that is above the common level, all
// cells of the block may rise to it for nothing, and the level of all other blocks sinks.
LevelingGoal block_goal(const StartProblem& problem, const CellContents& contents) {
  const auto per_block = static_cast<std::size_t>(problem.topology.dp_per_shard());
  std::vector<std::int64_t> work = problem.attention_work.values();
  std::sort(work.rbegin(), work.rend());
  const std::size_t num_blocks = static_cast<std::size_t>(contents.num_cells()) / per_block;
  std::int64_t left = std::accumulate(work.begin(), work.end(), std::int64_t{0}) /
                      static_cast<std::int64_t>(per_block);
  std::size_t num_high = 0;  // blocks above the common level; unavoidable maxima descend
  while (num_high + 1 < num_blocks &&
         work[num_high * per_block] > left / static_cast<std::int64_t>(num_blocks - num_high)) {
    left -= work[num_high * per_block];
    ++num_high;
  }
  const std::int64_t level =
      std::max(std::int64_t{0}, left) / static_cast<std::int64_t>(num_blocks - num_high);
  LevelingGoal goal = equal_goal(contents);
  const std::vector<CellId> order = heaviest_cells_first(contents);
  for (std::size_t n = 0; n < order.size(); ++n) {
    const std::size_t block = n / per_block;
    goal.target_work[order[n]] = block < num_high ? work[block * per_block] : level;
  }
  return goal;
}

// Sum over blocks of the largest work of their cells, once blocks are formed.
std::int64_t sum_of_block_peaks(const StartProblem& problem, const CellContents& contents) {
  const auto per_block = static_cast<std::size_t>(problem.topology.dp_per_shard());
  const std::vector<CellId> order = heaviest_cells_first(contents);
  std::int64_t sum = 0;
  for (std::size_t first = 0; first < order.size(); first += per_block) {
    sum += contents.work(order[first]);
  }
  return sum;
}

}  // namespace

CellLayout make_start_layout(
    StartKind kind, const StartProblem& problem, const random::Stream& stream
) {
  RP_ASSERT(
      light,
      find_layout_fault(problem.feasible, problem.padded_lengths, problem.capacity_tokens)
              .empty() &&
          problem.feasible.num_rows == problem.num_rows &&
          problem.feasible.dp == problem.topology.dp,
      "the feasible layout is not: {}",
      find_layout_fault(problem.feasible, problem.padded_lengths, problem.capacity_tokens)
  );
  CellContents contents = propose(kind, problem, stream);
  fill_empty_cells_in_place(contents, problem.padded_lengths);
  if (!repair_capacity_in_place(contents, problem.capacity_tokens, problem.tuning.max_exchanges)) {
    contents = contents_of(problem, problem.feasible.cell_of_sample);
    if (kind == StartKind::kShuffledFit || kind == StartKind::kRandomBestFit) {
      shuffle_in_place(contents, problem, stream);
    }
  }
  level_work_in_place(contents, problem.capacity_tokens, equal_goal(contents), problem.tuning);
  CellContents by_blocks = contents;
  level_work_in_place(
      by_blocks, problem.capacity_tokens, block_goal(problem, by_blocks), problem.tuning
  );
  const bool better =
      sum_of_block_peaks(problem, by_blocks) < sum_of_block_peaks(problem, contents);
  return arrange_blocks(
      better ? by_blocks : contents, problem.topology, problem.num_rows, problem.tuning.block_swaps
  );
}

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

CellLayout arrange_blocks(
    const CellContents& contents, const Topology& topology, int num_rows, int max_swaps
) {
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
  for (int swaps = 0; swaps < max_swaps && swap_once(shards, peaks); ++swaps) {
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

}  // namespace routepack::packing
