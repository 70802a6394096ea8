// From two placements and the layout of the state to the moves between ranks: interval
// intersection of old and new owners. Pure; every rank computes the whole list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "routepack/placement.hpp"
#include "shuffle/plan/state_layout.hpp"

namespace routepack::shuffle {

// Bytes [begin, begin + bytes) of the logical tensor (layer, kind) of the expert that leaves
// from_slot for to_slot. Within one range of the source's and one of the target's registry.
struct ByteMove {
  std::int32_t source = 0;  // rank
  std::int32_t target = 0;  // rank; may be the source
  MoeLayer layer;
  KindId kind;
  SlotId from_slot;
  SlotId to_slot;
  std::int64_t begin = 0;
  std::int64_t bytes = 0;
  bool operator==(const ByteMove&) const = default;
};
static_assert(sizeof(ByteMove) == 40);  // no padding: its bytes are digested

// A piece of a target's range and the rank that supplies it.
struct SourcedPiece {
  std::int32_t source = 0;
  std::int32_t target = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const SourcedPiece&) const = default;
};

// Every byte of every range of `new_owners` once, from a range of `old_owners` that covers it:
// preferably of the same rank, then of the same EDP shard, then of the lowest rank. Pieces are as
// long as their source range and preference allow. Both lists by rank, then begin.
// O((old + new) log old) for replicated or sharded owners.
[[nodiscard]] std::vector<SourcedPiece> intersect_owners(
    std::span<const OwnedRange> old_owners,
    std::span<const OwnedRange> new_owners,
    std::span<const EdpShard> shard_of_rank
);

// All moves, by (target, source, layer, expert, kind, begin). Experts that keep their slot have
// none. Throws STATE_INCOMPLETE for a layer with moved experts of which nothing is registered.
[[nodiscard]] std::vector<ByteMove> make_moves(
    const StateLayout& layout, const Placement& old_placement, const Placement& new_placement
);

// What is wrong with a list of moves: a byte of a changed slot that arrives not at all or twice,
// or from a rank that does not hold it. Empty when nothing is. Slow: an oracle.
[[nodiscard]] std::string find_moves_fault(
    std::span<const ByteMove> moves,
    const StateLayout& layout,
    const Placement& old_placement,
    const Placement& new_placement
);

// (layer, expert) pairs whose slot differs.
[[nodiscard]] std::int64_t count_changed_slots(
    const Placement& old_placement, const Placement& new_placement
);

}  // namespace routepack::shuffle
