#include "packing/row_search.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "packing/cell_pool.hpp"
#include "packing/fits.hpp"

namespace routepack::packing {
namespace {

// Positions in the longest-first order; `taken_` marks those in cells already completed.
class CompletionSearch {
 public:
  CompletionSearch(
      std::vector<std::int64_t> lengths,
      std::int64_t capacity,
      std::int64_t num_cells,
      std::int64_t max_nodes
  )
      : lengths_(std::move(lengths)),
        capacity_(capacity),
        num_cells_(num_cells),
        max_nodes_(max_nodes),
        taken_(lengths_.size(), false) {}

  PackingEnd run() {
    const std::int64_t tokens = std::accumulate(lengths_.begin(), lengths_.end(), std::int64_t{0});
    if (num_cells_ < static_cast<std::int64_t>(lengths_.size()) &&
        (tokens + capacity_ - 1) / capacity_ > num_cells_) {
      return PackingEnd::kRefuted;
    }
    // Room that may stay unused over all cells; no more than one cell a sample is ever opened.
    num_cells_ = std::min(num_cells_, static_cast<std::int64_t>(lengths_.size()));
    const bool found = complete_cells(0, num_cells_ * capacity_ - tokens);
    if (found) {
      return PackingEnd::kFound;
    }
    return num_nodes_ >= max_nodes_ ? PackingEnd::kGaveUp : PackingEnd::kRefuted;
  }

  [[nodiscard]] std::int64_t num_nodes() const { return num_nodes_; }
  // Positions of each cell, in the order of completion.
  [[nodiscard]] const std::vector<std::vector<std::size_t>>& cells() const { return cells_; }

 private:
  struct Completion {
    std::int64_t room = 0;               // left unused
    std::vector<std::size_t> positions;  // beside the opening sample, ascending
  };

  // Fills the next cell and all later ones. `first`: no untaken sample before this position.
  bool complete_cells(std::size_t first, std::int64_t spare_room) {
    while (first < lengths_.size() && taken_[first]) {
      ++first;
    }
    if (first == lengths_.size()) {
      return true;
    }
    if (static_cast<std::int64_t>(cells_.size()) == num_cells_ || too_many_long_samples(first)) {
      return false;
    }
    taken_[first] = true;
    for (Completion& completion : undominated_completions(first, spare_room)) {
      if (num_nodes_ >= max_nodes_) {
        break;
      }
      mark(completion.positions, true);
      const std::int64_t room = completion.room;
      cells_.push_back(std::move(completion.positions));
      cells_.back().push_back(first);
      if (complete_cells(first + 1, spare_room - room)) {
        return true;
      }
      cells_.back().pop_back();
      mark(cells_.back(), false);
      cells_.pop_back();
    }
    taken_[first] = false;
    return false;
  }

  // Two samples beyond half the capacity never share a cell.
  [[nodiscard]] bool too_many_long_samples(std::size_t first) const {
    auto cells_left = num_cells_ - static_cast<std::int64_t>(cells_.size());
    for (std::size_t at = first; at < lengths_.size() && lengths_[at] > capacity_ - lengths_[at];
         ++at) {
      cells_left -= taken_[at] ? 0 : 1;
    }
    return cells_left < 0;
  }

  // Completions of the cell that `first` opens, best filled first. A sample that fills the room
  // exactly dominates all others, and a completion to which a sample can be added is dominated.
  std::vector<Completion> undominated_completions(std::size_t first, std::int64_t spare_room) {
    const std::int64_t room = capacity_ - lengths_[first];
    for (std::size_t at = first + 1; at < lengths_.size() && lengths_[at] >= room; ++at) {
      if (!taken_[at] && lengths_[at] == room) {
        return {{0, {at}}};
      }
    }
    std::vector<Completion> found;
    std::vector<std::size_t> chosen;
    enumerate(first + 1, room, capacity_ + 1, spare_room, chosen, found);
    std::stable_sort(found.begin(), found.end(), [](const Completion& a, const Completion& b) {
      return a.room < b.room;
    });
    return found;
  }

  // `shortest_left_out`: the shortest sample passed over so far; the room must end below it.
  void enumerate(
      std::size_t at,
      std::int64_t room,
      std::int64_t shortest_left_out,
      std::int64_t spare_room,
      std::vector<std::size_t>& chosen,
      std::vector<Completion>& found
  ) {
    while (at < lengths_.size() && (taken_[at] || lengths_[at] > room)) {
      ++at;
    }
    if (++num_nodes_ >= max_nodes_) {
      return;
    }
    if (at == lengths_.size()) {
      if (room < shortest_left_out && room <= spare_room) {
        found.push_back({room, chosen});
      }
      return;
    }
    chosen.push_back(at);
    enumerate(at + 1, room - lengths_[at], shortest_left_out, spare_room, chosen, found);
    chosen.pop_back();
    // Without this one: then without its equals too.
    std::size_t next = at + 1;
    while (next < lengths_.size() && (taken_[next] || lengths_[next] == lengths_[at])) {
      ++next;
    }
    enumerate(next, room, std::min(shortest_left_out, lengths_[at]), spare_room, chosen, found);
  }

  void mark(const std::vector<std::size_t>& positions, bool taken) {
    for (const std::size_t at : positions) {
      taken_[at] = taken;
    }
  }

  std::vector<std::int64_t> lengths_;  // descending
  std::int64_t capacity_;
  std::int64_t num_cells_;
  std::int64_t max_nodes_;
  std::int64_t num_nodes_ = 0;
  std::vector<bool> taken_;
  std::vector<std::vector<std::size_t>> cells_;
};

}  // namespace

ExactSearch search_packing(
    const PaddedLengths& padded,
    std::int64_t capacity,
    std::int64_t num_cells,
    std::int64_t max_nodes
) {
  const std::vector<SampleId> order = longest_first(padded);
  std::vector<std::int64_t> lengths;
  lengths.reserve(order.size());
  for (const SampleId sample : order) {
    lengths.push_back(padded[sample]);
  }
  CompletionSearch search{std::move(lengths), capacity, num_cells, max_nodes};
  ExactSearch result;
  result.end = search.run();
  result.num_nodes = search.num_nodes();
  if (result.end == PackingEnd::kFound) {
    CellPacking packing{
        static_cast<int>(search.cells().size()), IndexVector<SampleId, CellId>{padded.size()}};
    for (std::size_t cell = 0; cell < search.cells().size(); ++cell) {
      for (const std::size_t at : search.cells()[cell]) {
        packing.cell_of_sample[order[at]] = CellId{cell};
      }
    }
    result.packing = std::move(packing);
  }
  return result;
}

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
    const random::Stream& stream,
    const domain::Tuning::Pool& tuning
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
      static_cast<std::size_t>(num_core_cells), limits.max_steps, stream, tuning
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

}  // namespace routepack::packing
