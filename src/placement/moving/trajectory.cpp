#include "placement/moving/trajectory.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "placement/aggregate/bounds.hpp"
#include "placement/aggregate/descent.hpp"
#include "placement/moving/block_descent.hpp"
#include "placement/moving/pair_scan.hpp"

namespace routepack::placement {
namespace {

// Of the experts on the rank where `expert` belongs that belong elsewhere, the first that belongs
// where `expert` is; with `any`, failing that, the first.
std::optional<ExpertId> find_partner(
    const BlockState& state, const RankOfExpert& target, ExpertId expert, bool any
) {
  const EpRank from = state.rank_of_experts()[expert];
  std::optional<ExpertId> partner;
  for (const ExpertId other : state.experts(target[expert])) {
    if (target[other] == from) {
      return other;
    }
    if (any && !partner && target[other] != target[expert]) {
      partner = other;
    }
  }
  return partner;
}

}  // namespace

SwapPath path_to(
    const BlockDemand& demand, const RankOfExpert& home, const RankOfExpert& target, int ep
) {
  BlockState state{demand, home, ep};
  const MovePrice count{home};
  SwapPath path;
  std::int64_t moved = 0;
  for (const bool any : {false, true}) {
    for (const ExpertId expert : ids<ExpertId>(home.size())) {
      const EpRank from = state.rank_of_experts()[expert];
      const EpRank to = target[expert];
      if (from == to) {
        continue;
      }
      if (const std::optional<ExpertId> partner = find_partner(state, target, expert, any)) {
        moved += count.moves(expert, from, to) + count.moves(*partner, to, from);
        state.swap(expert, *partner);
        path.push_back({expert, *partner, state.sum_peaks(), moved});
      }
    }
  }
  return path;
}

ExcessDescent::ExcessDescent(
    const BlockDemand& demand,
    RankOfExpert start,
    int ep,
    std::vector<std::uint32_t> target,
    SimdLevel level
)
    : price_{start},
      state_(demand, std::move(start), ep),
      scan_(state_, price_, block_kernels(level, PairObjective::kExcess)),
      target_(std::move(target)),
      best_(static_cast<std::size_t>(ep) * static_cast<std::size_t>(ep)),
      changed_(static_cast<std::size_t>(ep), 1) {}

std::optional<PricedSwap> ExcessDescent::step() {
  const auto ep = static_cast<std::size_t>(state_.ep());
  const std::optional<PricedSwap>* best = nullptr;
  for (std::size_t a = 0; a < ep; ++a) {
    for (std::size_t b = a + 1; b < ep; ++b) {
      std::optional<PricedSwap>& swap = best_[a * ep + b];
      if (changed_[EpRank{a}] != 0 || changed_[EpRank{b}] != 0) {
        scan_.open(EpRank{a}, EpRank{b}, target_.data());
        swap = scan_.find_best_swap();
      }
      if (swap && (best == nullptr || swap->sum_change < (*best)->sum_change)) {
        best = &swap;
      }
    }
  }
  std::fill(changed_.begin(), changed_.end(), char{0});
  if (best == nullptr) {
    return std::nullopt;
  }
  const PricedSwap swap = **best;
  changed_[state_.rank_of_experts()[swap.out]] = 1;
  changed_[state_.rank_of_experts()[swap.in]] = 1;
  state_.swap(swap.out, swap.in);
  moved_ += swap.moves;
  return swap;
}

namespace {

std::vector<std::int64_t> sum_blocks(const BlockDemand& demand) {
  std::vector<std::int64_t> totals;
  for (const ExpertId expert : ids<ExpertId>(demand.num_experts())) {
    std::int64_t total = 0;
    for (std::size_t block = 0; block < demand.stride(); ++block) {
      total += demand.of(expert)[block];
    }
    totals.push_back(total);
  }
  return totals;
}

// Largest load of each block.
std::vector<std::uint32_t> block_peaks(const BlockState& state) {
  std::vector<std::uint32_t> peaks(state.demand().stride(), 0);
  for (const EpRank rank : ids<EpRank>(state.ep())) {
    for (std::size_t block = 0; block < peaks.size(); ++block) {
      peaks[block] = std::max(peaks[block], state.loads(rank)[block]);
    }
  }
  return peaks;
}

// Appends a descent's swaps to a path that has come to such an objective and so many moved experts.
void append_swaps(
    const BlockDescent& descent, std::int64_t objective, std::int64_t moved, SwapPath& path
) {
  for (const PricedSwap& swap : descent.swaps()) {
    objective += swap.sum_change;
    moved += swap.moves;
    path.push_back({swap.out, swap.in, objective, moved});
  }
}

// Swaps of a falling price, each round asking for a little less than the one before. `gain`: what
// the free placement saves; prices worth looking at lie below all of it and above a small part of
// an expert's mean share.
SwapPath follow_prices(
    const BlockDemand& demand,
    const RankOfExpert& home,
    int ep,
    std::int64_t gain,
    int passes,
    SimdLevel simd
) {
  BlockDescent descent{demand, home, ep, {home}, simd};
  const std::int64_t objective = descent.sum_peaks();
  const std::int64_t last = gain / (32 * std::ssize(home.values()));
  for (std::int64_t price = gain; price > last; price = price * 3 / 4) {
    descent.set_price(price);
    descent.descend(passes);
  }
  SwapPath path;
  append_swaps(descent, objective, 0, path);
  return path;
}

// To the free placement; then, in rounds of a rising price, back.
SwapPath follow_free(
    const BlockDemand& demand,
    const RankOfExpert& home,
    const RankOfExpert& free,
    int ep,
    std::int64_t gain,
    int passes,
    SimdLevel simd
) {
  BlockDescent descent{demand, free, ep, {home}, simd};
  SwapPath path = path_to(demand, home, free, ep);
  const std::int64_t objective = descent.sum_peaks();
  const std::int64_t moved = descent.moved();
  for (std::int64_t price = gain / (32 * std::ssize(home.values())); price < gain;
       price = price * 4 / 3 + 1) {
    descent.set_price(price);
    descent.descend(passes);
  }
  append_swaps(descent, objective, moved, path);
  return path;
}

// Swaps towards a target `percent` of the way from the free peaks to those of `home`; no more than
// a third of the experts: with more, the free placement is near.
SwapPath follow_target(
    const BlockDemand& demand,
    const RankOfExpert& home,
    const RankOfExpert& free,
    int ep,
    std::uint32_t percent,
    SimdLevel simd
) {
  std::vector<std::uint32_t> target = block_peaks({demand, free, ep});
  const std::vector<std::uint32_t> present = block_peaks({demand, home, ep});
  for (std::size_t block = 0; block < target.size(); ++block) {
    if (present[block] > target[block]) {
      const std::uint64_t above = present[block] - target[block];
      target[block] += static_cast<std::uint32_t>(above * percent / 100);
    }
  }
  ExcessDescent descent{demand, home, ep, std::move(target), simd};
  const auto max_moved = static_cast<std::int64_t>(home.size() / 3);
  SwapPath path;
  while (descent.moved() < max_moved) {
    const std::optional<PricedSwap> swap = descent.step();
    if (!swap) {
      break;
    }
    path.push_back({swap->out, swap->in, descent.state().sum_peaks(), descent.moved()});
  }
  return path;
}

}  // namespace

SwapTrajectory peak_trajectory(
    std::span<const std::int64_t> demand,
    int ep,
    const LayerPlacement& current,
    const PlaceEffort& effort,
    const random::Stream& stream
) {
  SwapTrajectory trajectory;
  const RankOfExpert home = ranks_of(current, ep);
  RankState state{demand, home, ep};
  trajectory.objective = state.peak();
  const std::int64_t bound = peak_lower_bound(demand, ep);
  SwapPath path;
  while (state.peak() > bound) {
    const std::optional<ExpertSwap> swap = find_best_swap(state);
    if (!swap) {
      break;
    }
    state.swap(swap->out, swap->in);
    path.push_back({swap->out, swap->in, state.peak(), count_moved(home, state.rank_of_experts())});
  }
  trajectory.paths.push_back(std::move(path));
  LayerResult free = place_layer(demand, ep, &current, effort, stream);
  trajectory.free_objective = free.peak;
  trajectory.free_moved_experts = count_moved(home, ranks_of(free.slots, ep));
  trajectory.free_slots = std::move(free.slots);
  return trajectory;
}

SwapTrajectory block_trajectory(
    std::span<const std::uint32_t> demand_by_expert_block,
    int num_blocks,
    int ep,
    const LayerPlacement& current,
    const PlaceEffort& effort,
    const random::Stream& stream,
    SimdLevel simd,
    const domain::Tuning::Moving& tuning
) {
  const BlockDemand demand{demand_by_expert_block, num_blocks};
  const RankOfExpert home = ranks_of(current, ep);
  SwapTrajectory trajectory;
  // Without a price: from here, or from the placement on the aggregate, whichever ends lower.
  const LayerPlacement aggregate =
      place_layer(sum_blocks(demand), ep, &current, effort, stream).slots;
  BlockDescentOptions options{.max_passes = tuning.free_passes, .current = &current, .simd = simd};
  BlockPlacement free = refine_layer(demand_by_expert_block, num_blocks, ep, current, options);
  BlockPlacement other = refine_layer(demand_by_expert_block, num_blocks, ep, aggregate, options);
  if (other.sum_peaks < free.sum_peaks) {
    free = std::move(other);
  }
  trajectory.objective = BlockState{demand, home, ep}.sum_peaks();
  const std::int64_t gain = trajectory.objective - free.sum_peaks;
  trajectory.paths.push_back(follow_prices(demand, home, ep, gain, tuning.price_passes, simd));
  const RankOfExpert free_ranks = ranks_of(free.slots, ep);
  for (const std::uint32_t percent : tuning.targets) {
    trajectory.paths.push_back(follow_target(demand, home, free_ranks, ep, percent, simd));
  }
  trajectory.paths.push_back(
      follow_free(demand, home, free_ranks, ep, gain, tuning.price_passes, simd)
  );
  trajectory.free_objective = free.sum_peaks;
  trajectory.free_moved_experts = free.moved_experts;
  trajectory.free_slots = std::move(free.slots);
  return trajectory;
}

}  // namespace routepack::placement
