// One layer under search: which experts each EP rank holds, and the ranks' loads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "routepack/ids.hpp"
#include "routepack/placement.hpp"

namespace routepack::placement {

// EP rank of every expert of one layer; every rank holds the same number of experts.
using RankOfExpert = IndexVector<ExpertId, EpRank>;

[[nodiscard]] RankOfExpert ranks_of(const LayerPlacement& slots, int ep);

// Experts whose EP rank differs between the two.
[[nodiscard]] std::int64_t count_moved(const RankOfExpert& before, const RankOfExpert& after);

// Invariant: the experts of a rank are sorted by demand, ties by id, both ascending.
class RankState {
 public:
  // `demand` [E] pairs must outlive the state.
  RankState(std::span<const std::int64_t> demand, RankOfExpert rank_of, int ep);

  [[nodiscard]] int ep() const { return ep_; }
  [[nodiscard]] int slots() const { return static_cast<int>(slots_); }
  [[nodiscard]] std::int64_t load(EpRank rank) const { return load_[rank.offset()]; }
  [[nodiscard]] std::int64_t demand(ExpertId expert) const { return demand_[expert.offset()]; }
  [[nodiscard]] EpRank rank_of(ExpertId expert) const { return rank_of_[expert]; }
  [[nodiscard]] const RankOfExpert& rank_of_experts() const { return rank_of_; }
  // Of one rank, ascending: demand, and the experts in the same order.
  [[nodiscard]] std::span<const std::int64_t> demands(EpRank rank) const {
    return {sorted_demand_.data() + rank.offset() * slots_, slots_};
  }
  [[nodiscard]] std::span<const ExpertId> experts(EpRank rank) const {
    return {sorted_expert_.data() + rank.offset() * slots_, slots_};
  }
  // Ties: the lower rank. O(ep).
  [[nodiscard]] EpRank heaviest() const;
  [[nodiscard]] std::int64_t peak() const { return load(heaviest()); }

  // Two experts of different ranks change places. O(slots); its own inverse.
  void swap(ExpertId a, ExpertId b);

 private:
  void replace(EpRank rank, ExpertId out, ExpertId in);

  std::span<const std::int64_t> demand_;
  int ep_;
  std::size_t slots_;
  RankOfExpert rank_of_;
  std::vector<std::int64_t> load_;           // [ep]
  std::vector<std::int64_t> sorted_demand_;  // [ep][slots]
  std::vector<ExpertId> sorted_expert_;      // [ep][slots]
};

// EP ranks of one layer are interchangeable: which of them gets which group of experts, and which
// slots within it, so that least experts move.

// The same groups of experts under other rank numbers: as many experts as possible keep the rank
// they have in `home` (an exact assignment); among these, as many groups as possible keep their
// number. O(ep³).
[[nodiscard]] RankOfExpert relabel_ranks(
    const RankOfExpert& rank_of, const RankOfExpert& home, int ep
);

// Experts that stay on their rank keep their slot of `current`; arrivals, by id, take the local
// slot that they come from if it is free, then the free slots in ascending order.
[[nodiscard]] LayerPlacement assign_slots(
    const RankOfExpert& rank_of, const LayerPlacement& current, int ep
);

// Both, against `current`.
struct RelabelledLayer {
  LayerPlacement slots;
  std::int64_t moved_experts = 0;
};
[[nodiscard]] RelabelledLayer relabel_layer(
    const RankOfExpert& rank_of, const LayerPlacement& current, int ep
);

}  // namespace routepack::placement
