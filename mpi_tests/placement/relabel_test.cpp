#include "placement/aggregate/rank_state.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "random/stream.hpp"

namespace routepack::placement {
namespace {

RankOfExpert random_ranks(std::uint64_t seed, int num_experts, int ep) {
  LayerPlacement slots;
  for (const std::int32_t slot :
       random::random_permutation({seed, random::Purpose::kTests, 0}, 0, num_experts)) {
    slots.push_back(SlotId{slot});
  }
  return ranks_of(slots, ep);
}

// Fewest moves over all ep! numberings of the groups.
std::int64_t fewest_moves(const RankOfExpert& rank_of, const RankOfExpert& home, int ep) {
  std::vector<int> numbers(static_cast<std::size_t>(ep));
  std::iota(numbers.begin(), numbers.end(), 0);
  auto best = static_cast<std::int64_t>(rank_of.size());
  do {
    RankOfExpert renumbered;
    for (const EpRank rank : rank_of) {
      renumbered.push_back(EpRank{numbers[rank.offset()]});
    }
    best = std::min(best, count_moved(home, renumbered));
  } while (std::next_permutation(numbers.begin(), numbers.end()));
  return best;
}

TEST(RelabelRanks, MovesAsFewExpertsAsAnyNumbering) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const int ep = 1 + static_cast<int>(seed % 6);
    const int slots = 1 + static_cast<int>(seed / 6 % 5);
    const RankOfExpert rank_of = random_ranks(2 * seed, ep * slots, ep);
    const RankOfExpert home = random_ranks(2 * seed + 1, ep * slots, ep);
    const RankOfExpert relabelled = relabel_ranks(rank_of, home, ep);
    EXPECT_EQ(count_moved(home, relabelled), fewest_moves(rank_of, home, ep)) << "seed " << seed;
    for (const ExpertId a : ids<ExpertId>(rank_of.size())) {  // the groups are the same
      for (const ExpertId b : ids<ExpertId>(rank_of.size())) {
        EXPECT_EQ(rank_of[a] == rank_of[b], relabelled[a] == relabelled[b]);
      }
    }
  }
}

TEST(RelabelRanks, UndoesAnyRenumberingOfManyRanks) {
  constexpr int kRanks = 64;
  const RankOfExpert home = random_ranks(1, 4 * kRanks, kRanks);
  const std::vector<std::int32_t> numbers =
      random::random_permutation({2, random::Purpose::kTests, 0}, 0, kRanks);
  RankOfExpert renumbered;
  for (const EpRank rank : home) {
    renumbered.push_back(EpRank{numbers[rank.offset()]});
  }
  EXPECT_EQ(relabel_ranks(renumbered, home, kRanks), home);
}

TEST(RelabelRanks, KeepsNumbersWhereNothingElseDecides) {
  // Every group holds one expert of either home: both numberings move two experts.
  const RankOfExpert rank_of{std::vector<EpRank>{EpRank{0}, EpRank{1}, EpRank{0}, EpRank{1}}};
  const RankOfExpert home{std::vector<EpRank>{EpRank{0}, EpRank{0}, EpRank{1}, EpRank{1}}};
  EXPECT_EQ(relabel_ranks(rank_of, home, 2), rank_of);
}

LayerPlacement slots_of(std::vector<int> slots) {
  LayerPlacement layer;
  for (const int slot : slots) {
    layer.push_back(SlotId{slot});
  }
  return layer;
}

TEST(AssignSlots, StayersKeepTheirSlotAndArrivalsTheirLocalOne) {
  // Two ranks of three slots. Experts 1 and 5 change places: each takes the local slot it had
  // where that is free, else the free one.
  const LayerPlacement current = slots_of({2, 1, 0, 3, 4, 5});
  const RankOfExpert rank_of{
      std::vector<EpRank>{EpRank{0}, EpRank{1}, EpRank{0}, EpRank{1}, EpRank{1}, EpRank{0}}};
  EXPECT_EQ(assign_slots(rank_of, current, 2), slots_of({2, 5, 0, 3, 4, 1}));
  // 1 and 4 both sit in local slot 1.
  const RankOfExpert same_slot{
      std::vector<EpRank>{EpRank{0}, EpRank{1}, EpRank{0}, EpRank{1}, EpRank{0}, EpRank{1}}};
  EXPECT_EQ(assign_slots(same_slot, current, 2), slots_of({2, 4, 0, 3, 1, 5}));
}

TEST(AssignSlots, GivesEveryRankItsExpertsOnce) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    constexpr int kExperts = 24;
    constexpr int kRanks = 4;
    LayerPlacement current;
    for (const std::int32_t slot :
         random::random_permutation({seed, random::Purpose::kTests, 9}, 0, kExperts)) {
      current.push_back(SlotId{slot});
    }
    const RankOfExpert rank_of = random_ranks(seed, kExperts, kRanks);
    LayerPlacement slots = assign_slots(rank_of, current, kRanks);
    EXPECT_EQ(ranks_of(slots, kRanks), rank_of);
    for (const ExpertId expert : ids<ExpertId>(kExperts)) {
      if (ranks_of(current, kRanks)[expert] == rank_of[expert]) {
        EXPECT_EQ(slots[expert], current[expert]);
      }
    }
    std::sort(slots.begin(), slots.end());
    EXPECT_EQ(std::adjacent_find(slots.begin(), slots.end()), slots.end());
  }
}

}  // namespace
}  // namespace routepack::placement
