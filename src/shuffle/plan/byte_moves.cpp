#include "shuffle/plan/byte_moves.hpp"

#include <algorithm>
#include <tuple>

#include "base/check.hpp"

namespace routepack::shuffle {
namespace {

// Smaller is better. A rank's own bytes, then those of its EDP shard, then the lowest rank.
struct Preference {
  std::int32_t distance = 0;
  std::int32_t rank = 0;
  auto operator<=>(const Preference&) const = default;
};

Preference preference_of(
    std::int32_t source, std::int32_t target, std::span<const EdpShard> shard_of_rank
) {
  const auto shard = [&](std::int32_t rank) {
    return shard_of_rank[static_cast<std::size_t>(rank)];
  };
  const std::int32_t distance = source == target ? 0 : shard(source) == shard(target) ? 1 : 2;
  return Preference{distance, source};
}

// Sweeps the ranges of one target rank, ascending, over the sources sorted by begin.
class TargetSweep {
 public:
  TargetSweep(
      std::span<const OwnedRange> sources,
      std::span<const EdpShard> shard_of_rank,
      std::vector<SourcedPiece>& pieces
  )
      : sources_(sources), shard_of_rank_(shard_of_rank), pieces_(pieces) {}

  void start(std::int32_t target) {
    target_ = target;
    open_.clear();
    next_ = 0;
  }
  void add(const OwnedRange& range) {
    std::int64_t cursor = range.begin;
    while (cursor < range.end) {
      open_until(cursor);
      const OwnedRange best = best_open(cursor);
      const std::int64_t end = std::min({range.end, best.end, next_better(best, range.end)});
      pieces_.push_back(SourcedPiece{best.rank, target_, cursor, end});
      cursor = end;
    }
  }

 private:
  void open_until(std::int64_t cursor) {
    while (next_ < sources_.size() && sources_[next_].begin <= cursor) {
      open_.push_back(sources_[next_++]);
    }
    std::erase_if(open_, [cursor](const OwnedRange& source) { return source.end <= cursor; });
  }
  Preference preference(const OwnedRange& source) const {
    return preference_of(source.rank, target_, shard_of_rank_);
  }
  const OwnedRange& best_open(std::int64_t cursor) const {
    RP_ASSERT(light, !open_.empty(), "byte {} has no source", cursor);
    return *std::min_element(
        open_.begin(), open_.end(),
        [&](const OwnedRange& a, const OwnedRange& b) { return preference(a) < preference(b); }
    );
  }
  // Where the next source begins that is preferred to `best`, as far as it matters.
  std::int64_t next_better(const OwnedRange& best, std::int64_t end) const {
    const Preference limit = preference(best);
    if (limit.distance == 0) {
      return end;
    }
    const std::int64_t reach = std::min(end, best.end);
    for (std::size_t n = next_; n < sources_.size() && sources_[n].begin < reach; ++n) {
      if (preference(sources_[n]) < limit) {
        return sources_[n].begin;
      }
    }
    return end;
  }

  std::span<const OwnedRange> sources_;
  std::span<const EdpShard> shard_of_rank_;
  std::vector<SourcedPiece>& pieces_;
  std::int32_t target_ = 0;
  std::vector<OwnedRange> open_;
  std::size_t next_ = 0;
};

void append_pieces(
    std::span<const OwnedRange> old_owners,
    std::span<const OwnedRange> new_owners,
    std::span<const EdpShard> shard_of_rank,
    std::vector<SourcedPiece>& pieces
) {
  const auto by_begin = [](const OwnedRange& a, const OwnedRange& b) {
    return std::tie(a.begin, a.rank) < std::tie(b.begin, b.rank);
  };
  std::vector<OwnedRange> sorted;
  if (!std::is_sorted(old_owners.begin(), old_owners.end(), by_begin)) {
    sorted.assign(old_owners.begin(), old_owners.end());
    std::sort(sorted.begin(), sorted.end(), by_begin);
    old_owners = sorted;
  }
  TargetSweep sweep{old_owners, shard_of_rank, pieces};
  std::int32_t target = -1;
  for (const OwnedRange& range : new_owners) {
    if (range.rank != target) {
      target = range.rank;
      sweep.start(target);
    }
    sweep.add(range);
  }
}

bool layer_has_tensors(const StateLayout& layout, MoeLayer layer) {
  for (const KindId kind : ids<KindId>(layout.kinds.size())) {
    if (layout.bytes_of(layer, kind) > 0) {
      return true;
    }
  }
  return false;
}

// Stable, by one of the rank fields: a pass of a radix sort.
std::vector<ByteMove> sort_by_rank(
    const std::vector<ByteMove>& moves, int num_ranks, std::int32_t ByteMove::*rank
) {
  std::vector<std::size_t> next(static_cast<std::size_t>(num_ranks) + 1, 0);
  for (const ByteMove& move : moves) {
    ++next[static_cast<std::size_t>(move.*rank) + 1];
  }
  for (std::size_t n = 1; n < next.size(); ++n) {
    next[n] += next[n - 1];
  }
  std::vector<ByteMove> sorted(moves.size());
  for (const ByteMove& move : moves) {
    sorted[next[static_cast<std::size_t>(move.*rank)]++] = move;
  }
  return sorted;
}

void append_expert(
    const StateLayout& layout,
    MoeLayer layer,
    SlotId from,
    SlotId to,
    std::vector<SourcedPiece>& pieces,
    std::vector<ByteMove>& moves
) {
  for (const KindId kind : ids<KindId>(layout.kinds.size())) {
    if (layout.bytes_of(layer, kind) == 0) {
      continue;
    }
    pieces.clear();
    append_pieces(
        layout.owners(layer, kind, from), layout.owners(layer, kind, to), layout.shard_of_rank,
        pieces
    );
    for (const SourcedPiece& piece : pieces) {
      moves.push_back(ByteMove{
          piece.source, piece.target, layer, kind, from, to, piece.begin, piece.end - piece.begin});
    }
  }
}

}  // namespace

std::vector<SourcedPiece> intersect_owners(
    std::span<const OwnedRange> old_owners,
    std::span<const OwnedRange> new_owners,
    std::span<const EdpShard> shard_of_rank
) {
  std::vector<SourcedPiece> pieces;
  append_pieces(old_owners, new_owners, shard_of_rank, pieces);
  return pieces;
}

std::vector<ByteMove> make_moves(
    const StateLayout& layout, const Placement& old_placement, const Placement& new_placement
) {
  std::vector<ByteMove> moves;
  std::vector<SourcedPiece> pieces;
  for (const MoeLayer layer : ids<MoeLayer>(layout.num_layers)) {
    const LayerPlacement& before = old_placement.layers[layer];
    const LayerPlacement& after = new_placement.layers[layer];
    RP_CHECK(
        before == after || layer_has_tensors(layout, layer), ErrorCode::kStateIncomplete,
        "layer {}: experts change their slots, but no rank registers a tensor of it", layer.value()
    );
    for (const ExpertId expert : ids<ExpertId>(layout.num_experts)) {
      if (before[expert] != after[expert]) {
        append_expert(layout, layer, before[expert], after[expert], pieces, moves);
      }
    }
  }
  moves = sort_by_rank(moves, layout.num_ranks(), &ByteMove::source);
  moves = sort_by_rank(moves, layout.num_ranks(), &ByteMove::target);
  RP_ASSERT(
      heavy, find_moves_fault(moves, layout, old_placement, new_placement).empty(), "{}",
      find_moves_fault(moves, layout, old_placement, new_placement)
  );
  return moves;
}

std::int64_t count_changed_slots(const Placement& old_placement, const Placement& new_placement) {
  std::int64_t changed = 0;
  for (const MoeLayer layer : ids<MoeLayer>(old_placement.layers.size())) {
    for (const ExpertId expert : ids<ExpertId>(old_placement.num_experts)) {
      changed += old_placement.layers[layer][expert] != new_placement.layers[layer][expert] ? 1 : 0;
    }
  }
  return changed;
}

}  // namespace routepack::shuffle
