// Slow and obvious answers that the packing module is compared with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace routepack::testing {

// Fewest cells, by dynamic programming over all subsets: (cells, tokens in the open one) of the
// best order in which a subset can be packed. O(2^n n), for n <= 16.
inline std::int64_t fewest_cells(const std::vector<std::int64_t>& lengths, std::int64_t capacity) {
  struct State {
    std::int64_t cells;
    std::int64_t tokens;
    bool operator<(const State& other) const {
      return cells != other.cells ? cells < other.cells : tokens < other.tokens;
    }
  };
  const std::size_t num_subsets = std::size_t{1} << lengths.size();
  std::vector<State> best(num_subsets, {std::numeric_limits<std::int64_t>::max(), 0});
  best[0] = {0, capacity};
  for (std::size_t subset = 0; subset < num_subsets; ++subset) {
    for (std::size_t sample = 0; sample < lengths.size(); ++sample) {
      const std::size_t with = subset | (std::size_t{1} << sample);
      if (with == subset) {
        continue;
      }
      const bool fits = best[subset].tokens + lengths[sample] <= capacity;
      const State next = fits ? State{best[subset].cells, best[subset].tokens + lengths[sample]}
                              : State{best[subset].cells + 1, lengths[sample]};
      best[with] = std::min(best[with], next);
    }
  }
  return best.back().cells;
}

struct NaiveFirstFit {
  std::int64_t rows = 0;
  bool nonempty_possible = true;
  std::vector<std::int64_t> cell_of_sample;  // empty where a cell stays empty
};

// The policy of docs/formats.md word by word.
inline NaiveFirstFit naive_first_fit(
    const std::vector<std::int64_t>& lengths,
    std::int64_t capacity,
    std::int64_t dp,
    std::int64_t row_multiple
) {
  std::vector<std::size_t> order(lengths.size());
  std::int64_t tokens = 0;
  for (std::size_t sample = 0; sample < order.size(); ++sample) {
    order[sample] = sample;
    tokens += lengths[sample];
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return lengths[a] > lengths[b];
  });
  NaiveFirstFit fit;
  fit.rows = std::max<std::int64_t>(1, (tokens + capacity * dp - 1) / (capacity * dp));
  fit.rows = (fit.rows + row_multiple - 1) / row_multiple * row_multiple;
  std::vector<std::int64_t> held;
  for (;; fit.rows += row_multiple) {
    std::vector<std::int64_t> room(static_cast<std::size_t>(fit.rows * dp), capacity);
    held.assign(room.size(), 0);
    fit.cell_of_sample.assign(lengths.size(), -1);
    std::size_t placed = 0;
    for (const std::size_t sample : order) {
      for (std::size_t cell = 0; cell < room.size(); ++cell) {
        if (room[cell] >= lengths[sample]) {
          room[cell] -= lengths[sample];
          ++held[cell];
          fit.cell_of_sample[sample] = static_cast<std::int64_t>(cell);
          ++placed;
          break;
        }
      }
    }
    if (placed == lengths.size()) {
      break;
    }
  }
  for (std::size_t cell = 0; cell < held.size(); ++cell) {
    if (held[cell] > 0) {
      continue;
    }
    const auto donor = std::find_if(order.rbegin(), order.rend(), [&](std::size_t sample) {
      return held[static_cast<std::size_t>(fit.cell_of_sample[sample])] >= 2;
    });
    if (donor == order.rend()) {
      return {fit.rows, false, {}};
    }
    --held[static_cast<std::size_t>(fit.cell_of_sample[*donor])];
    fit.cell_of_sample[*donor] = static_cast<std::int64_t>(cell);
    held[cell] = 1;
  }
  return fit;
}

}  // namespace routepack::testing
