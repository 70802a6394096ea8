#include "packing/cell_packing.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

namespace routepack::packing {
namespace {

// Room of n cells under a complete binary tree of maxima: finds the first cell with enough room in
// O(log n). Cells never used so far have the full capacity.
class RoomTree {
 public:
  RoomTree(std::size_t num_cells, std::int64_t capacity)
      : num_leaves_(std::bit_ceil(num_cells)), room_(2 * num_leaves_, capacity) {}

  // Takes `length` from the first cell with that much room; such a cell must exist.
  CellId take_first(std::int64_t length) {
    std::size_t node = 1;
    while (node < num_leaves_) {
      node *= 2;
      node += room_[node] >= length ? 0U : 1U;
    }
    const CellId cell{node - num_leaves_};
    room_[node] -= length;
    for (node /= 2; node >= 1; node /= 2) {
      room_[node] = std::max(room_[2 * node], room_[2 * node + 1]);
    }
    return cell;
  }

 private:
  std::size_t num_leaves_;
  std::vector<std::int64_t> room_;  // [1] the root, [num_leaves_ + c] cell c
};

}  // namespace

CellPacking pack_first_fit(
    const PaddedLengths& padded, std::int64_t capacity_tokens, const std::vector<SampleId>& order
) {
  CellPacking packing{0, IndexVector<SampleId, CellId>{padded.size()}};
  if (padded.empty()) {
    return packing;
  }
  RoomTree rooms{padded.size(), capacity_tokens};
  for (const SampleId sample : order) {
    const CellId cell = rooms.take_first(padded[sample]);
    packing.cell_of_sample[sample] = cell;
    packing.num_cells = std::max(packing.num_cells, cell.value() + 1);
  }
  return packing;
}

CellPacking pack_best_fit_decreasing(const PaddedLengths& padded, std::int64_t capacity_tokens) {
  CellPacking packing{0, IndexVector<SampleId, CellId>{padded.size()}};
  std::set<std::pair<std::int64_t, CellId>> open;  // (room, cell)
  for (const SampleId sample : longest_first(padded)) {
    const std::int64_t length = padded[sample];
    const auto best = open.lower_bound({length, CellId{}});
    std::pair<std::int64_t, CellId> chosen{capacity_tokens, CellId{packing.num_cells}};
    if (best != open.end()) {
      chosen = *best;
      open.erase(best);
    } else {
      ++packing.num_cells;
    }
    packing.cell_of_sample[sample] = chosen.second;
    if (chosen.first > length) {
      open.emplace(chosen.first - length, chosen.second);
    }
  }
  return packing;
}

CellLayout spread_over_rows(
    const CellPacking& packing, const PaddedLengths& padded, int num_rows, int dp
) {
  CellLayout layout{num_rows, dp, packing.cell_of_sample};
  IndexVector<CellId, int> held{static_cast<std::size_t>(layout.num_cells()), 0};
  for (const CellId cell : layout.cell_of_sample) {
    ++held[cell];
  }
  // From the end of the order: shortest first, ties by id descending. A sample that is alone in its
  // cell stays alone, so one pass over the donors serves all empty cells.
  const std::vector<SampleId> order = longest_first(padded);
  auto donor = order.rbegin();
  for (const CellId cell : ids<CellId>(layout.num_cells())) {
    if (held[cell] > 0) {
      continue;
    }
    while (donor != order.rend() && held[layout.cell_of_sample[*donor]] < 2) {
      ++donor;
    }
    if (donor == order.rend()) {
      break;
    }
    --held[layout.cell_of_sample[*donor]];
    layout.cell_of_sample[*donor] = cell;
    held[cell] = 1;
  }
  return layout;
}

}  // namespace routepack::packing
