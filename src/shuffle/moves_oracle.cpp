// The slow check of a list of moves: counts every byte that arrives, range by range.
#include <algorithm>
#include <map>
#include <tuple>

#include "base/check.hpp"
#include "shuffle/segments.hpp"

namespace routepack {
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

}  // namespace

std::string find_moves_fault(
    std::span<const ByteMove> moves,
    const StateLayout& layout,
    const Placement& old_placement,
    const Placement& new_placement
) {
  std::map<TargetTensor, std::vector<Interval>> arriving;
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
      const SlotId from = old_placement.layers[layer][expert];
      const SlotId to = new_placement.layers[layer][expert];
      for (const KindId kind : ids<KindId>(from != to ? layout.kinds.size() : 0)) {
        for (const OwnedRange& range : layout.owners(layer, kind, to)) {
          std::vector<Interval>& got = arriving[TargetTensor{range.rank, layer, kind, to}];
          std::sort(got.begin(), got.end());
          std::int64_t cursor = range.begin;
          for (const Interval& interval : got) {
            if (interval.end > range.begin && interval.begin < range.end) {
              if (interval.begin != cursor) {
                return fmt::format(
                    "byte {} arrives not at all or twice: {}", cursor,
                    describe(TargetTensor{range.rank, layer, kind, to}, layout)
                );
              }
              cursor = interval.end;
            }
          }
          if (cursor != range.end) {
            return fmt::format(
                "byte {} does not arrive: {}", cursor,
                describe(TargetTensor{range.rank, layer, kind, to}, layout)
            );
          }
        }
      }
    }
  }
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

}  // namespace routepack
