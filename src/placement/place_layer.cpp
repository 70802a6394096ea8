#include "placement/place_layer.hpp"

#include <utility>

#include "placement/bounds.hpp"
#include "placement/descent.hpp"
#include "placement/rank_state.hpp"
#include "placement/refute_peak.hpp"
#include "placement/relabel.hpp"
#include "placement/starts.hpp"

namespace routepack {
namespace {

constexpr std::int64_t kRefutationSteps = 1 << 16;  // 1 to 3 ms

enum SearchStep : std::uint32_t { kLowestPeak, kFewestMoves };

// Bound plus slack, saturating: the product may not fit, the slack is below the bound.
std::int64_t good_enough(std::int64_t bound, int slack_ppm) {
  constexpr std::int64_t kMillion = 1'000'000;
  const std::int64_t slack = bound / kMillion * slack_ppm + bound % kMillion * slack_ppm / kMillion;
  std::int64_t sum = 0;
  return __builtin_add_overflow(bound, slack, &sum) ? bound : sum;
}

// The lowest peak we find from the current placement (already descended) and from scratch.
RankState find_lowest_peak(
    std::span<const std::int64_t> demand,
    const RankState& incumbent,
    std::int64_t goal,
    const PlaceEffort& effort,
    const Stream& stream
) {
  RankState best = incumbent;
  for (const auto& start : {place_greedily, place_by_differencing}) {
    RankState state{demand, start(demand, incumbent.ep()), incumbent.ep()};
    descend_in_place(state, goal);
    if (state.peak() < best.peak()) {
      best = std::move(state);
    }
  }
  search_in_place(best, goal, effort.search_iterations, stream, kLowestPeak);
  return best;
}

// As few experts away from `home` as we can do at no more than the state's peak.
RankOfExpert settle(
    std::span<const std::int64_t> demand, const RankState& state, const RankOfExpert& home
) {
  RankState settled{demand, relabel_ranks(state.rank_of_experts(), home, state.ep()), state.ep()};
  return_home_in_place(settled, home, settled.peak());
  return settled.rank_of_experts();
}

}  // namespace

LayerResult place_layer(
    std::span<const std::int64_t> demand,
    int ep,
    const LayerPlacement* current,
    const PlaceEffort& effort,
    const Stream& stream
) {
  const LayerPlacement start =
      current != nullptr
          ? *current
          : identity_placement(1, static_cast<int>(demand.size()), ep).layers[MoeLayer{0}];
  const RankOfExpert home = ranks_of(start, ep);
  const std::int64_t bound = peak_lower_bound(demand, ep);
  const std::int64_t goal = good_enough(bound, effort.slack_ppm);
  RankState incumbent{demand, home, ep};
  if (incumbent.peak() <= goal) {
    return {start, incumbent.peak(), bound};
  }
  descend_in_place(incumbent, goal);
  RankOfExpert chosen;
  if (incumbent.peak() <= goal) {
    chosen = settle(demand, incumbent, home);
  } else {
    const RankState best = find_lowest_peak(demand, incumbent, goal, effort, stream);
    chosen = settle(demand, best, home);
    if (current != nullptr) {
      // The current placement, changed just enough for the same peak, may move less.
      RankState near{demand, home, ep};
      descend_in_place(near, best.peak());
      search_in_place(near, best.peak(), effort.search_iterations, stream, kFewestMoves);
      RankOfExpert other = settle(demand, near, home);
      if (near.peak() <= best.peak() && count_moved(home, other) <= count_moved(home, chosen)) {
        chosen = std::move(other);
      }
    }
  }
  const std::int64_t peak = RankState{demand, chosen, ep}.peak();
  return {
      assign_slots(chosen, start, ep), peak,
      peak > bound ? raise_peak_bound(demand, ep, bound, kRefutationSteps) : bound};
}

}  // namespace routepack
