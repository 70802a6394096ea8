#include "packing/pool_search.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "packing/cell_pool.hpp"
#include "packing/slack_fit.hpp"

namespace routepack {
namespace {

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
    cell.tokens += lengths[position];
    if (lengths[position] > capacity - lengths[position]) {
      cell.long_sample = {position};
      cell.long_tokens = lengths[position];
    } else {
      cell.samples.push_back(position);
    }
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
  const auto num_beyond_half =
      std::count_if(core_lengths.begin(), core_lengths.end(), [&](std::int64_t length) {
        return length > capacity - length;
      });
  if (num_core_cells < num_beyond_half || core_tokens > num_core_cells * capacity) {
    return std::nullopt;
  }
  const std::optional<std::vector<FilledCell>> cells = exchange_through_pool(
      core_lengths, capacity, pack_core(core_lengths, capacity),
      static_cast<std::size_t>(num_core_cells), limits.max_steps, stream
  );
  if (!cells) {
    return std::nullopt;
  }

  CellPacking packing{0, IndexVector<SampleId, CellId>{padded.size()}};
  std::vector<std::int64_t> tokens;
  for (const FilledCell& cell : *cells) {
    for (const std::vector<Position>* held : {&cell.long_sample, &cell.samples}) {
      for (const Position position : *held) {
        packing.cell_of_sample[split.core[position]] = CellId{packing.num_cells};
      }
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
