#include "shuffle/plan/byte_moves.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "shuffle/placements.hpp"
#include "shuffle/plan/rounds.hpp"

namespace routepack::shuffle {
namespace {

using testing::random_placement;

// Bytes [0, total) cut at `cuts`, shard n on rank first_rank + n.
std::vector<OwnedRange> sharded(
    std::int64_t total, const std::vector<std::int64_t>& cuts, std::int32_t first_rank
) {
  std::vector<OwnedRange> ranges;
  std::int64_t begin = 0;
  for (std::size_t n = 0; n <= cuts.size(); ++n) {
    const std::int64_t end = n < cuts.size() ? cuts[n] : total;
    if (end > begin) {
      ranges.push_back(OwnedRange{first_rank + static_cast<std::int32_t>(n), begin, end});
    }
    begin = end;
  }
  return ranges;
}

// Byte by byte: every target byte once, from the best rank that holds it.
std::map<std::pair<std::int32_t, std::int64_t>, std::int32_t> sources_by_byte(
    const std::vector<OwnedRange>& old_owners,
    const std::vector<OwnedRange>& new_owners,
    const std::vector<EdpShard>& shards
) {
  std::map<std::pair<std::int32_t, std::int64_t>, std::int32_t> sources;
  for (const OwnedRange& target : new_owners) {
    for (std::int64_t byte = target.begin; byte < target.end; ++byte) {
      std::tuple<int, std::int32_t> best{9, 0};
      for (const OwnedRange& source : old_owners) {
        if (source.begin <= byte && byte < source.end) {
          const bool same_shard = shards[static_cast<std::size_t>(source.rank)] ==
                                  shards[static_cast<std::size_t>(target.rank)];
          const int distance = source.rank == target.rank ? 0 : same_shard ? 1 : 2;
          best = std::min(best, {distance, source.rank});
        }
      }
      sources[{target.rank, byte}] = std::get<1>(best);
    }
  }
  return sources;
}

void expect_exact(
    const std::vector<OwnedRange>& old_owners,
    const std::vector<OwnedRange>& new_owners,
    const std::vector<EdpShard>& shards
) {
  const auto expected = sources_by_byte(old_owners, new_owners, shards);
  std::map<std::pair<std::int32_t, std::int64_t>, std::int32_t> actual;
  const std::vector<SourcedPiece> pieces = intersect_owners(old_owners, new_owners, shards);
  for (const SourcedPiece& piece : pieces) {
    for (std::int64_t byte = piece.begin; byte < piece.end; ++byte) {
      EXPECT_TRUE(actual.emplace(std::pair{piece.target, byte}, piece.source).second)
          << "byte " << byte << " arrives twice at rank " << piece.target;
    }
  }
  EXPECT_EQ(actual, expected);
  for (std::size_t n = 1; n < pieces.size(); ++n) {  // as few as possible: no two could be one
    const bool adjacent = pieces[n - 1].end == pieces[n].begin &&
                          pieces[n - 1].source == pieces[n].source &&
                          pieces[n - 1].target == pieces[n].target;
    EXPECT_FALSE(adjacent);
  }
}

// All ways to cut 7 bytes over up to 3 old and 3 new ranks that share ids or not.
TEST(Intersection, IsExactForAllSmallShardings) {
  constexpr std::int64_t kTotal = 7;
  const std::vector<EdpShard> shards = {
      EdpShard{0}, EdpShard{1}, EdpShard{0}, EdpShard{1}, EdpShard{2}};
  std::vector<std::vector<std::int64_t>> cuts;
  for (std::int64_t a = 0; a <= kTotal; ++a) {
    for (std::int64_t b = a; b <= kTotal; ++b) {
      cuts.push_back({a, b});
    }
  }
  for (const auto& old_cuts : cuts) {
    for (const auto& new_cuts : cuts) {
      for (const std::int32_t first : {0, 1, 2}) {
        expect_exact(sharded(kTotal, old_cuts, 0), sharded(kTotal, new_cuts, first), shards);
      }
    }
  }
}

// Copies that overlap, every subset of three holders with different extents.
TEST(Intersection, PrefersTheOwnRankThenTheOwnShardThenTheLowest) {
  const std::vector<EdpShard> shards = {EdpShard{0}, EdpShard{1}, EdpShard{0}, EdpShard{1}};
  const std::vector<OwnedRange> partial = {{0, 0, 9}, {1, 2, 5}, {2, 3, 9}, {3, 0, 4}};
  for (unsigned subset = 0; subset < 8; ++subset) {
    std::vector<OwnedRange> old_owners = {partial[0]};
    for (unsigned n = 1; n < 4; ++n) {
      if ((subset >> (n - 1) & 1U) != 0U) {
        old_owners.push_back(partial[n]);
      }
    }
    expect_exact(old_owners, {{0, 0, 9}, {1, 0, 9}, {2, 1, 8}, {3, 4, 9}}, shards);
  }
}

TEST(Intersection, RelaysThreeShardsToFiveWithOddCuts) {
  const std::vector<EdpShard> shards(8, EdpShard{0});
  const std::vector<OwnedRange> old_owners = sharded(1009, {337, 673}, 0);
  const std::vector<OwnedRange> new_owners = sharded(1009, {203, 405, 607, 809}, 3);
  expect_exact(old_owners, new_owners, shards);
  EXPECT_EQ(intersect_owners(old_owners, new_owners, shards).size(), 7U);  // 3 + 5 - 1
}

// Layout of `ep` x `edp` ranks: kind "m" sharded over EDP with other cuts for each local slot,
// kind "w" replicated. Rank = shard * ep + EP rank.
StateLayout make_layout(int layers, int experts, int ep, int edp, std::int64_t bytes) {
  StateLayout layout;
  layout.num_layers = layers;
  layout.num_experts = experts;
  for (int rank = 0; rank < ep * edp; ++rank) {
    layout.shard_of_rank.push_back(EdpShard{rank / ep});
  }
  layout.kinds = IndexVector<KindId, std::string>{std::vector<std::string>{"m", "w"}};
  layout.tensor_bytes.assign(static_cast<std::size_t>(layers) * 2, bytes);
  layout.first_range.push_back(0);
  for (int layer = 0; layer < layers; ++layer) {
    for (int kind = 0; kind < 2; ++kind) {
      for (int slot = 0; slot < experts; ++slot) {
        const int ep_rank = slot / (experts / ep);
        std::int64_t begin = 0;
        for (int shard = 0; shard < edp; ++shard) {
          const std::int64_t even = bytes * (shard + 1) / edp;
          const std::int64_t end =
              shard + 1 == edp ? bytes : std::min(bytes, even + (slot * 7 + layer) % 5);
          if (kind == 1) {
            layout.ranges.push_back(OwnedRange{shard * ep + ep_rank, 0, bytes});
          } else if (end > begin) {
            layout.ranges.push_back(OwnedRange{shard * ep + ep_rank, begin, end});
          }
          begin = std::max(begin, end);
        }
        layout.first_range.push_back(layout.ranges.size());
      }
    }
  }
  return layout;
}

TEST(Moves, CoverEveryChangedSlotExactly) {
  for (const int ep : {1, 2, 3}) {
    for (const int edp : {1, 2, 3}) {
      const StateLayout layout = make_layout(2, ep * 2, ep, edp, 23);
      for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const Placement before = random_placement(2, ep * 2, ep, seed);
        const Placement after = random_placement(2, ep * 2, ep, seed + 100);
        const std::vector<ByteMove> moves = make_moves(layout, before, after);
        EXPECT_EQ(find_moves_fault(moves, layout, before, after), "") << "seed " << seed;
        for (const ByteMove& move : moves) {  // replicated tensors never cross EDP shards
          if (layout.kinds[move.kind] == "w") {
            EXPECT_EQ(move.source / ep, move.target / ep);
          }
        }
      }
    }
  }
}

TEST(Moves, TheOracleSeesAMissingADoubleAndAWrongMove) {
  const StateLayout layout = make_layout(1, 4, 2, 2, 23);
  const Placement before = identity_placement(1, 4, 2);
  const Placement after = random_placement(1, 4, 2, 3);
  const std::vector<ByteMove> moves = make_moves(layout, before, after);
  ASSERT_GT(moves.size(), 3U);
  for (std::size_t n = 0; n < moves.size(); ++n) {
    std::vector<ByteMove> missing = moves;
    missing.erase(missing.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_NE(find_moves_fault(missing, layout, before, after), "");
    std::vector<ByteMove> twice = moves;
    twice.push_back(moves[n]);
    EXPECT_NE(find_moves_fault(twice, layout, before, after), "");
    std::vector<ByteMove> shifted = moves;
    shifted[n].begin += 1;
    EXPECT_NE(find_moves_fault(shifted, layout, before, after), "");
    std::vector<ByteMove> wrong = moves;
    wrong[n].source = (wrong[n].source + 1) % 2 + wrong[n].source / 2 * 2;  // other EP rank
    EXPECT_NE(find_moves_fault(wrong, layout, before, after), "");
  }
}

TEST(Moves, AreSortedByTargetAndSourceThenLayerAndExpert) {
  const StateLayout layout = make_layout(3, 6, 3, 2, 40);
  const Placement before = random_placement(3, 6, 3, 1);
  const Placement after = random_placement(3, 6, 3, 2);
  const std::vector<ByteMove> moves = make_moves(layout, before, after);
  const auto key = [&](const ByteMove& move) {
    const LayerPlacement& slots = after.layers[move.layer];
    const auto expert = std::find(slots.begin(), slots.end(), move.to_slot) - slots.begin();
    return std::tuple{move.target, move.source, move.layer, expert, move.kind, move.begin};
  };
  EXPECT_TRUE(std::is_sorted(moves.begin(), moves.end(), [&](const ByteMove& a, const ByteMove& b) {
    return key(a) < key(b);
  }));
}

TEST(Moves, NeedTensorsWhereExpertsChange) {
  StateLayout layout = make_layout(1, 4, 2, 1, 8);
  layout.tensor_bytes.assign(2, 0);
  const Placement before = identity_placement(1, 4, 2);
  EXPECT_TRUE(make_moves(layout, before, before).empty());
  try {
    (void)make_moves(layout, before, random_placement(1, 4, 2, 1));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kStateIncomplete);
  }
}

// Descriptors alone: 6 GiB tensors, so that 32-bit arithmetic anywhere would show.
TEST(Rounds, HandleMoreThanTwoToThe31Bytes) {
  constexpr std::int64_t kBytes = (std::int64_t{6} << 30U) + 5;
  const StateLayout layout = make_layout(1, 2, 2, 1, kBytes);
  const Placement before = identity_placement(1, 2, 2);
  Placement after = before;
  std::swap(after.layers[MoeLayer{0}][ExpertId{0}], after.layers[MoeLayer{0}][ExpertId{1}]);
  const std::vector<ByteMove> moves = make_moves(layout, before, after);
  const RankStreams streams = make_streams(moves, 0, std::int64_t{16} << 20U);
  ASSERT_EQ(streams.sends.size(), 1U);
  EXPECT_EQ(streams.sends[0].bytes, 2 * (kBytes + 11));  // padded to a multiple of 16
  EXPECT_EQ(streams.num_rounds, 769);                    // 12 GiB and a little, by 16 MiB
  EXPECT_EQ(streams.sends[0].payload_of(768, streams.round_bytes), 32);
  const auto last = moves_between(streams.sends[0], kBytes + 20, kBytes + 40);
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0].offset, kBytes + 11);
}

// Whatever B, the rounds of both ends cut the same stream, and their parts are all of it.
TEST(Rounds, BothEndsCutTheSameStreamAndNothingIsLost) {
  const StateLayout layout = make_layout(2, 6, 3, 2, 45);
  const Placement before = random_placement(2, 6, 3, 7);
  const Placement after = random_placement(2, 6, 3, 8);
  const std::vector<ByteMove> moves = make_moves(layout, before, after);
  for (const std::int64_t round_bytes : {16, 30, 48, 64, 1 << 20}) {
    std::vector<RankStreams> ranks;
    for (int rank = 0; rank < 6; ++rank) {
      ranks.push_back(make_streams(moves, rank, round_bytes));
      EXPECT_EQ(ranks.back().num_rounds, ranks.front().num_rounds);
      EXPECT_EQ(ranks.back().round_bytes % 16, 0);
    }
    std::int64_t total = 0;
    for (int source = 0; source < 6; ++source) {
      for (const PairStream& stream : ranks[static_cast<std::size_t>(source)].sends) {
        const std::vector<PairStream>& receives =
            ranks[static_cast<std::size_t>(stream.peer)].receives;
        const auto other =
            std::find_if(receives.begin(), receives.end(), [source](const PairStream& item) {
              return item.peer == source;
            });
        ASSERT_NE(other, receives.end());
        EXPECT_EQ(other->bytes, stream.bytes);
        std::int64_t payload = 0;
        std::int64_t covered = 0;
        for (std::int64_t round = 0; round < ranks[0].num_rounds; ++round) {
          const std::int64_t begin = round * ranks[0].round_bytes;
          const std::int64_t part = stream.payload_of(round, ranks[0].round_bytes);
          payload += part;
          for (const StreamMove& item : moves_between(stream, begin, begin + part)) {
            covered += std::min(item.offset + item.move.bytes, begin + part) -
                       std::max(item.offset, begin);
          }
        }
        EXPECT_EQ(payload, stream.bytes);
        for (const StreamMove& item : stream.moves) {
          covered -= item.move.bytes;
          EXPECT_EQ(item.offset % 16, 0);
          total += item.move.bytes;
        }
        EXPECT_EQ(covered, 0);
      }
    }
    for (const RankStreams& streams : ranks) {
      for (const StreamMove& item : streams.here.moves) {
        total += item.move.bytes;
      }
    }
    std::int64_t expected = 0;
    for (const ByteMove& move : moves) {
      expected += move.bytes;
    }
    EXPECT_EQ(total, expected);
  }
}

// EP rank of every expert as asked for; stayers in place; as many same-slot arrivals as can be.
TEST(Slots, KeepStayersAndPreferTheSameLocalSlot) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const int ep = 1 + static_cast<int>(seed % 4);
    const int experts = ep * (1 + static_cast<int>(seed % 3));
    const int per_rank = experts / ep;
    const Placement current = random_placement(2, experts, ep, seed);
    const Placement target = random_placement(2, experts, ep, seed + 1000);
    const Placement chosen = choose_slots(current, target);
    validate_placement(chosen, 2, experts);
    for (const MoeLayer layer : ids<MoeLayer>(2)) {
      std::vector<int> same_slot_askers(static_cast<std::size_t>(experts), 0);
      int same_slot_arrivals = 0;
      for (const ExpertId expert : ids<ExpertId>(experts)) {
        const SlotId from = current.layers[layer][expert];
        const SlotId to = chosen.layers[layer][expert];
        EXPECT_EQ(chosen.ep_rank_of(layer, expert), target.ep_rank_of(layer, expert));
        const int home = target.ep_rank_of(layer, expert).value();
        const auto same = static_cast<std::size_t>(home * per_rank + from.value() % per_rank);
        if (current.ep_rank_of(layer, expert) == target.ep_rank_of(layer, expert)) {
          EXPECT_EQ(from, to);
          same_slot_askers[same] = -experts;  // taken by a stayer
        } else {
          same_slot_askers[same] += 1;
          same_slot_arrivals += to.value() == static_cast<int>(same) ? 1 : 0;
        }
      }
      const auto possible = std::count_if(
          same_slot_askers.begin(), same_slot_askers.end(), [](int askers) { return askers > 0; }
      );
      EXPECT_EQ(same_slot_arrivals, possible) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace routepack::shuffle
