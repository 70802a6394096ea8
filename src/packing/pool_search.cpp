#include "packing/pool_search.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "packing/slack_fit.hpp"
#include "packing/subset_fill.hpp"

namespace routepack {
namespace {

struct FilledCell {
  std::vector<Position> samples;  // ascending positions: longest first
  std::int64_t tokens = 0;
};

class PoolSearch {
 public:
  // `lengths` descending. `cells`: any packing of all of them; what is beyond num_cells cells, the
  // emptiest, starts in the pool.
  PoolSearch(
      const std::vector<std::int64_t>& lengths,
      std::int64_t capacity,
      std::vector<FilledCell> cells,
      std::size_t num_cells,
      std::int64_t max_steps,
      const Stream& stream
  )
      : lengths_(lengths),
        capacity_(capacity),
        cells_(std::move(cells)),
        num_cells_(num_cells),
        steps_left_(max_steps),
        stream_(stream),
        fill_(lengths, capacity) {
    std::stable_sort(cells_.begin(), cells_.end(), [](const FilledCell& a, const FilledCell& b) {
      return a.tokens > b.tokens;
    });
    while (cells_.size() > num_cells_) {
      open_last_cell();
    }
  }

  // True when the pool is empty and all samples are in cells().
  bool run() {
    for (std::size_t round = 0; !pool_.empty() && steps_left_ > 0; ++round) {
      open_flexible_cells(kPoolSizes[round % std::size(kPoolSizes)], round > 0);
      sweep_until_closed();
    }
    return pool_.empty();
  }

  [[nodiscard]] const std::vector<FilledCell>& cells() const { return cells_; }

 private:
  static constexpr std::size_t kPoolSizes[] = {60, 120, 240};
  static constexpr std::int64_t kMaxNodes = 1'000;          // for a cell in a sweep
  static constexpr std::int64_t kMaxClosingNodes = 20'000;  // for an open cell
  static constexpr std::size_t kMaxMoreSamples = 2;
  static constexpr int kMaxStalls = 3;

  void open_last_cell() {
    add_to_pool(cells_.back());
    cells_.pop_back();
  }

  void add_to_pool(const FilledCell& cell) {
    pool_ = merged(pool_, cell.samples);
    pool_tokens_ += cell.tokens;
  }

  [[nodiscard]] std::vector<Position> merged(
      const std::vector<Position>& a, const std::vector<Position>& b
  ) const {
    std::vector<Position> both;
    both.reserve(a.size() + b.size());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both;
  }

  // Cells of short samples first: they mix best. After the first round every second one is kept, at
  // random, so that rounds differ.
  void open_flexible_cells(std::size_t pool_size, bool at_random) {
    std::stable_sort(cells_.begin(), cells_.end(), [](const FilledCell& a, const FilledCell& b) {
      return a.samples.front() < b.samples.front();
    });
    std::vector<FilledCell> kept;
    while (pool_.size() < pool_size && !cells_.empty()) {
      if (at_random && stream_.at(num_sweeps_, cells_.size()).below(0, 2) == 0) {
        kept.push_back(std::move(cells_.back()));
        cells_.pop_back();
      } else {
        open_last_cell();
      }
    }
    ++num_sweeps_;
    std::move(kept.begin(), kept.end(), std::back_inserter(cells_));
  }

  // Exchanges that keep a cell's number of samples come first, because they keep the pool rich;
  // once they stall, cells may grow.
  void sweep_until_closed() {
    std::size_t more_samples = 0;
    for (int stalls = 0; stalls < kMaxStalls && steps_left_ > 0;) {
      const std::int64_t before = pool_tokens_;
      sweep(more_samples);
      if (close_open_cells(false)) {
        return;
      }
      if (before - pool_tokens_ > capacity_ / 1000) {
        stalls = 0;
        more_samples = 0;
      } else {
        ++stalls;
        more_samples = std::min(more_samples + 1, kMaxMoreSamples);
      }
    }
    close_open_cells(true);
  }

  void sweep(std::size_t more_samples) {
    const auto count = static_cast<std::int32_t>(cells_.size());
    for (const std::int32_t n : random_permutation(stream_, num_sweeps_++, count)) {
      FilledCell& cell = cells_[static_cast<std::size_t>(n)];
      if (cell.tokens == capacity_) {
        continue;
      }
      const std::vector<Position> candidates = merged(cell.samples, pool_);
      const bool fuller =
          fill_.run(candidates, {cell.tokens + 1, cell.samples.size() + more_samples, kMaxNodes});
      steps_left_ -= fill_.num_nodes() + static_cast<std::int64_t>(candidates.size());
      if (fuller) {
        pool_tokens_ -= fill_.tokens() - cell.tokens;
        pool_ = fill_.left_out();
        cell = {fill_.chosen(), fill_.tokens()};
      }
      if (steps_left_ < 0) {
        return;
      }
    }
  }

  // Fills the open cells from the pool, each around the longest sample left. With samples left
  // over, nothing changes, unless `anyway`: then they are the next round's pool.
  bool close_open_cells(bool anyway) {
    const std::size_t num_open = num_cells_ - cells_.size();
    if (!anyway && pool_tokens_ > static_cast<std::int64_t>(num_open) * capacity_) {
      return false;
    }
    std::vector<Position> left = pool_;
    std::int64_t left_tokens = pool_tokens_;
    std::vector<FilledCell> closed;
    for (std::size_t n = 0; n < num_open; ++n) {
      const bool any = fill_.run(left, {1, left.size(), kMaxClosingNodes});
      steps_left_ -= fill_.num_nodes();
      if (!any) {
        break;
      }
      closed.push_back({fill_.chosen(), fill_.tokens()});
      left_tokens -= fill_.tokens();
      left = fill_.left_out();
    }
    if (!left.empty() && !anyway) {
      return false;
    }
    std::move(closed.begin(), closed.end(), std::back_inserter(cells_));
    pool_ = std::move(left);
    pool_tokens_ = left_tokens;
    return pool_.empty();
  }

  const std::vector<std::int64_t>& lengths_;
  std::int64_t capacity_;
  std::vector<FilledCell> cells_;
  std::size_t num_cells_;  // cells_ and the open ones
  std::vector<Position> pool_;
  std::int64_t pool_tokens_ = 0;
  std::int64_t steps_left_;
  Stream stream_;
  std::uint32_t num_sweeps_ = 0;  // steps of the stream used
  SubsetFill fill_;
};

// The samples of a window by what the search does with them; positions are longest first.
struct Split {
  std::vector<SampleId> long_ones;  // a cell each
  std::vector<SampleId> core;
  std::vector<SampleId> short_ones;  // set aside
};

Split split_at(const PaddedLengths& padded, std::int64_t capacity, std::int64_t lambda) {
  Split split;
  for (const SampleId sample : longest_first(padded)) {
    if (padded[sample] > capacity - lambda) {
      split.long_ones.push_back(sample);
    } else if (padded[sample] >= lambda) {
      split.core.push_back(sample);
    } else {
      split.short_ones.push_back(sample);
    }
  }
  return split;
}

std::vector<FilledCell> pack_core(const std::vector<std::int64_t>& lengths, std::int64_t capacity) {
  const PaddedLengths padded{lengths};
  // Loose fits first; see SlackFitLimits.
  const CellPacking packing = pack_minimum_slack(padded, capacity, {2'000, capacity / 64});
  std::vector<FilledCell> cells(static_cast<std::size_t>(packing.num_cells));
  for (Position position = 0; position < lengths.size(); ++position) {
    FilledCell& cell = cells[packing.cell_of_sample[SampleId{std::size_t{position}}].offset()];
    cell.samples.push_back(position);
    cell.tokens += lengths[position];
  }
  return cells;
}

// Best fit of the short samples into the room of all cells; new cells where there is none.
void add_short_samples(
    const std::vector<SampleId>& short_ones,
    const PaddedLengths& padded,
    std::int64_t capacity,
    const std::vector<std::int64_t>& tokens,
    CellPacking& packing
) {
  std::set<std::pair<std::int64_t, CellId>> rooms;
  for (std::size_t cell = 0; cell < tokens.size(); ++cell) {
    rooms.emplace(capacity - tokens[cell], CellId{cell});
  }
  for (const SampleId sample : short_ones) {
    const auto best = rooms.lower_bound({padded[sample], CellId{}});
    std::pair<std::int64_t, CellId> chosen{capacity, CellId{packing.num_cells}};
    if (best != rooms.end()) {
      chosen = *best;
      rooms.erase(best);
    } else {
      ++packing.num_cells;
    }
    packing.cell_of_sample[sample] = chosen.second;
    rooms.emplace(chosen.first - padded[sample], chosen.second);
  }
}

}  // namespace

std::optional<CellPacking> search_with_pool(
    const PaddedLengths& padded,
    std::int64_t capacity,
    std::int64_t num_cells,
    const PoolSearchLimits& limits,
    const Stream& stream
) {
  const Split split = split_at(padded, capacity, limits.lambda);
  const std::int64_t num_core_cells = num_cells - static_cast<std::int64_t>(split.long_ones.size());
  std::vector<std::int64_t> core_lengths;
  for (const SampleId sample : split.core) {
    core_lengths.push_back(padded[sample]);
  }
  const std::int64_t core_tokens =
      std::accumulate(core_lengths.begin(), core_lengths.end(), std::int64_t{0});
  if (num_core_cells < 0 || core_tokens > num_core_cells * capacity) {
    return std::nullopt;
  }
  PoolSearch search{
      core_lengths,
      capacity,
      pack_core(core_lengths, capacity),
      static_cast<std::size_t>(num_core_cells),
      limits.max_steps,
      stream};
  if (!search.run()) {
    return std::nullopt;
  }

  CellPacking packing{0, IndexVector<SampleId, CellId>{padded.size()}};
  std::vector<std::int64_t> tokens;
  for (const FilledCell& cell : search.cells()) {
    for (const Position position : cell.samples) {
      packing.cell_of_sample[split.core[position]] = CellId{packing.num_cells};
    }
    tokens.push_back(cell.tokens);
    ++packing.num_cells;
  }
  for (const SampleId sample : split.long_ones) {
    packing.cell_of_sample[sample] = CellId{packing.num_cells};
    tokens.push_back(padded[sample]);
    ++packing.num_cells;
  }
  add_short_samples(split.short_ones, padded, capacity, tokens, packing);
  if (packing.num_cells > num_cells) {
    return std::nullopt;
  }
  return packing;
}

}  // namespace routepack
