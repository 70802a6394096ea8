// find_moves_fault of byte_moves.hpp, the slow check of a list of moves: follows every byte that
// arrives, range by range. Shares nothing with the code that it judges.
#include <algorithm>
#include <map>
#include <tuple>

#include "base/check.hpp"
#include "shuffle/plan/byte_moves.hpp"

namespace routepack::shuffle {
namespace {

struct TargetTensor {
  std::int32_t rank = 0;
  MoeLayer layer;
  KindId kind;
  SlotId slot;
  auto operator<=>(const TargetTensor&) const = default;
};

struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  auto operator<=>(const Interval&) const = default;
};

bool is_owned(std::span<const OwnedRange> owners, std::int32_t rank, const Interval& interval) {
  return std::any_of(owners.begin(), owners.end(), [&](const OwnedRange& range) {
    return range.rank == rank && range.begin <= interval.begin && interval.end <= range.end;
  });
}

std::string describe(const TargetTensor& tensor, const StateLayout& layout) {
  return fmt::format(
      "rank {}, layer {}, kind {}, slot {}", tensor.rank, tensor.layer.value(),
      layout.kinds[tensor.kind], tensor.slot.value()
  );
}

// Does every byte of a changed slot's range arrive once?
std::string find_gap(
    const OwnedRange& range,
    std::vector<Interval>& arriving,
    const TargetTensor& tensor,
    const StateLayout& layout
) {
  std::sort(arriving.begin(), arriving.end());
  std::int64_t cursor = range.begin;
  for (const Interval& interval : arriving) {
    if (interval.end <= range.begin || interval.begin >= range.end) {
      continue;
    }
    if (interval.begin != cursor) {
      return fmt::format(
          "byte {} arrives not at all or twice: {}", cursor, describe(tensor, layout)
      );
    }
    cursor = interval.end;
  }
  return cursor == range.end
             ? std::string{}
             : fmt::format("byte {} does not arrive: {}", cursor, describe(tensor, layout));
}

using Arrivals = std::map<TargetTensor, std::vector<Interval>>;

std::string find_gap_in_slot(
    MoeLayer layer, SlotId slot, Arrivals& arriving, const StateLayout& layout
) {
  for (const KindId kind : ids<KindId>(layout.kinds.size())) {
    for (const OwnedRange& range : layout.owners(layer, kind, slot)) {
      const TargetTensor tensor{range.rank, layer, kind, slot};
      std::string gap = find_gap(range, arriving[tensor], tensor, layout);
      if (!gap.empty()) {
        return gap;
      }
    }
  }
  return {};
}

std::string find_needless_arrival(
    const Arrivals& arriving,
    const StateLayout& layout,
    const Placement& old_placement,
    const Placement& new_placement
) {
  for (const auto& [tensor, intervals] : arriving) {
    const LayerPlacement& before = old_placement.layers[tensor.layer];
    const LayerPlacement& after = new_placement.layers[tensor.layer];
    for (const ExpertId expert : ids<ExpertId>(layout.num_experts)) {
      if (after[expert] == tensor.slot && before[expert] == tensor.slot && !intervals.empty()) {
        return fmt::format("an expert that stays receives bytes: {}", describe(tensor, layout));
      }
    }
  }
  return {};
}

}  // namespace

std::string find_moves_fault(
    std::span<const ByteMove> moves,
    const StateLayout& layout,
    const Placement& old_placement,
    const Placement& new_placement
) {
  Arrivals arriving;
  for (const ByteMove& move : moves) {
    const TargetTensor tensor{move.target, move.layer, move.kind, move.to_slot};
    const Interval interval{move.begin, move.begin + move.bytes};
    if (!is_owned(layout.owners(move.layer, move.kind, move.from_slot), move.source, interval) ||
        !is_owned(layout.owners(move.layer, move.kind, move.to_slot), move.target, interval)) {
      return fmt::format(
          "bytes {} to {} from rank {} lie outside its ranges or those of {}", interval.begin,
          interval.end, move.source, describe(tensor, layout)
      );
    }
    arriving[tensor].push_back(interval);
  }
  for (const MoeLayer layer : ids<MoeLayer>(layout.num_layers)) {
    for (const ExpertId expert : ids<ExpertId>(layout.num_experts)) {
      const SlotId slot = new_placement.layers[layer][expert];
      if (old_placement.layers[layer][expert] == slot) {
        continue;
      }
      std::string gap = find_gap_in_slot(layer, slot, arriving, layout);
      if (!gap.empty()) {
        return gap;
      }
    }
  }
  return find_needless_arrival(arriving, layout, old_placement, new_placement);
}

}  // namespace routepack::shuffle
