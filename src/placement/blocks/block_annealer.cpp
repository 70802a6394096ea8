#include "placement/blocks/block_annealer.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

#include "placement/aggregate/rank_state.hpp"

namespace routepack::placement {
PeakTree::PeakTree(const BlockState& state, const BlockKernels& kernels)
    : kernels_(kernels),
      demand_(state.demand()),
      stride_(demand_.stride()),
      safe_steps_(state.safe_steps()),
      num_leaves_(std::max<std::size_t>(std::bit_ceil(static_cast<std::size_t>(state.ep())), 2)),
      nodes_(2 * num_leaves_ * stride_, 0) {
  for (const EpRank rank : ids<EpRank>(state.ep())) {
    std::copy_n(state.loads(rank), stride_, node(leaf(rank)));
  }
  for (std::size_t parent = num_leaves_ - 1; parent >= 1; --parent) {
    kernels_.take_larger(node(parent), node(2 * parent), node(2 * parent + 1), demand_.steps());
  }
}

EpRank PeakTree::peak_rank(std::size_t block) const {
  const std::uint32_t peak = nodes_[stride_ + block];
  std::size_t number = 1;
  while (number < num_leaves_) {
    number *= 2;
    number += nodes_[number * stride_ + block] == peak ? 0U : 1U;
  }
  return EpRank{number - num_leaves_};
}

std::int64_t PeakTree::sum_peaks() const {
  std::int64_t sum = 0;
  for (std::size_t block = 0; block < stride_; ++block) {
    sum += nodes_[stride_ + block];
  }
  return sum;
}

std::int64_t PeakTree::sum_after(EpRank a, EpRank b, ExpertId out, ExpertId in) {
  // Below the node where the paths of a and b meet, their siblings cover the other ranks there;
  // above it, those of the common path do.
  others_.clear();
  std::size_t from_a = leaf(a);
  std::size_t from_b = leaf(b);
  while (from_a / 2 != from_b / 2) {
    others_.push_back(node(from_a ^ 1U));
    others_.push_back(node(from_b ^ 1U));
    from_a /= 2;
    from_b /= 2;
  }
  for (std::size_t common = from_a / 2; common > 1; common /= 2) {
    others_.push_back(node(common ^ 1U));
  }
  ExchangeQuery query;
  query.load_a = node(leaf(a));
  query.load_b = node(leaf(b));
  query.out = demand_.of(out);
  query.in = demand_.of(in);
  query.others = others_.data();
  query.num_others = others_.size();
  query.steps = demand_.steps();
  query.safe_steps = safe_steps_;
  return kernels_.sum_exchanged(query);
}

void PeakTree::exchange(EpRank a, EpRank b, ExpertId out, ExpertId in) {
  replace(a, out, in);
  replace(b, in, out);
  climb(a);
  climb(b);
}

void PeakTree::replace(EpRank rank, ExpertId out, ExpertId in) {
  std::uint32_t* const load = node(leaf(rank));
  const std::uint32_t* const leaves = demand_.of(out);
  const std::uint32_t* const arrives = demand_.of(in);
  for (std::size_t block = 0; block < stride_; ++block) {
    load[block] += arrives[block] - leaves[block];  // modulo 2^32; the result is whole again
  }
}

void PeakTree::climb(EpRank rank) {
  for (std::size_t parent = leaf(rank) / 2; parent >= 1; parent /= 2) {
    kernels_.take_larger(node(parent), node(2 * parent), node(2 * parent + 1), demand_.steps());
  }
}

namespace {

// What brings the share of accepted moves near that of the next stage. Arithmetic of literals and
// counts only: the same bits on every machine.
double correction(
    const domain::Tuning::BlockAnnealing& tuning,
    int stage,
    std::int64_t accepted,
    std::int64_t moves
) {
  const double done = static_cast<double>(stage) / tuning.num_stages;
  const double wanted =
      tuning.first_accepted + (tuning.last_accepted - tuning.first_accepted) * done;
  const double found =
      static_cast<double>(accepted) / static_cast<double>(std::max<std::int64_t>(moves, 1));
  constexpr double kNone = 0.005;  // keeps the quotient finite
  return std::clamp((wanted + kNone) / (found + kNone), 0.6, 1.5);
}

}  // namespace

BlockAnnealer::BlockAnnealer(const BlockState& start, std::uint32_t reach, SimdLevel simd)
    : tree_(start, block_kernels(simd, PairObjective::kPeaks)),
      slots_(start.experts(EpRank{0}).size()),
      reach_(reach),
      rank_of_(start.rank_of_experts()),
      place_(rank_of_.size(), 0),
      position_(rank_of_.size(), 0),
      cost_(tree_.sum_peaks() * kCostUnits),
      best_ranks_(rank_of_),
      best_cost_(cost_) {
  for (const EpRank rank : ids<EpRank>(start.ep())) {
    for (const ExpertId expert : start.experts(rank)) {
      place_[expert] = member_.size();
      member_.push_back(expert);
    }
  }
  IndexVector<ExpertId, std::uint64_t> demand{rank_of_.size(), 0};
  for (const ExpertId expert : ids<ExpertId>(rank_of_.size())) {
    by_demand_.push_back(expert);
    for (std::size_t block = 0; block < start.demand().stride(); ++block) {
      demand[expert] += start.demand().of(expert)[block];
    }
  }
  std::stable_sort(by_demand_.begin(), by_demand_.end(), [&](ExpertId x, ExpertId y) {
    return demand[x] < demand[y];
  });
  for (std::size_t at = 0; at < by_demand_.size(); ++at) {
    position_[by_demand_[at]] = at;
  }
}

void BlockAnnealer::run(const AnnealingEffort& effort, int num_blocks) {
  if (slots_ == 1 || slots_ == rank_of_.size()) {
    return;  // every placement has the same peaks
  }
  const domain::Tuning::BlockAnnealing& tuning = effort.tuning;
  auto temperature = tuning.first_heat * static_cast<double>(mean_change(effort, num_blocks));
  std::int64_t first = 0;
  for (int stage = 1; stage <= tuning.num_stages; ++stage) {
    const bool cold = stage > tuning.num_stages - tuning.cold_stages;
    const std::int64_t last = effort.num_moves * stage / tuning.num_stages;
    const std::int64_t accepted = run_stage(
        effort, num_blocks, {first, last}, cold ? 0 : static_cast<std::int64_t>(temperature)
    );
    temperature *= correction(tuning, stage, accepted, last - first);
    first = last;
  }
  keep_best();
}

std::int64_t BlockAnnealer::run_stage(
    const AnnealingEffort& effort, int num_blocks, MoveRange range, std::int64_t temperature
) {
  std::int64_t accepted = 0;
  for (std::int64_t number = range.first; number < range.last; ++number) {
    const random::RandomBits draw =
        effort.random.at(effort.round, static_cast<std::uint64_t>(number));
    const Swap swap = propose(draw, num_blocks);
    if (!is_between_ranks(swap)) {
      continue;
    }
    const std::int64_t cost = cost_after(swap);
    if (cost <= effort.acceptance.energy_limit(cost_, temperature, draw.word(3))) {
      apply(swap, cost);
      ++accepted;
    }
  }
  return accepted;
}

// One expert sits on the peak rank of a random block: no other swap lowers that block.
ExpertId BlockAnnealer::choose_leaver(const random::RandomBits& draw, int num_blocks) const {
  const std::size_t block = draw.below(0, static_cast<std::uint32_t>(num_blocks));
  const EpRank peak = tree_.peak_rank(block);
  return member_[peak.offset() * slots_ + draw.below(1, static_cast<std::uint32_t>(slots_))];
}

BlockAnnealer::Swap BlockAnnealer::propose(const random::RandomBits& draw, int num_blocks) const {
  const ExpertId out = choose_leaver(draw, num_blocks);
  const bool near = (draw.word(1) & 3U) != 0;
  return {
      out, near ? neighbour(out, draw.word(2))
                : ExpertId{static_cast<std::int32_t>(
                      draw.below(2, static_cast<std::uint32_t>(rank_of_.size()))
                  )}};
}

bool BlockAnnealer::is_between_ranks(const Swap& swap) const {
  return rank_of_[swap.out] != rank_of_[swap.in];
}

// Another within so many places in the order of demand; the expert itself where that runs out.
ExpertId BlockAnnealer::neighbour(ExpertId expert, std::uint32_t random) const {
  const std::size_t distance = 1 + ((random >> 1U) % reach_);
  const std::size_t at = position_[expert];
  if ((random & 1U) != 0) {
    return at + distance < by_demand_.size() ? by_demand_[at + distance] : expert;
  }
  return at >= distance ? by_demand_[at - distance] : expert;
}

std::int64_t BlockAnnealer::cost_after(const Swap& swap) {
  return tree_.sum_after(rank_of_[swap.out], rank_of_[swap.in], swap.out, swap.in) * kCostUnits;
}

std::int64_t BlockAnnealer::mean_change(const AnnealingEffort& effort, int num_blocks) {
  std::int64_t total = 0;
  std::int64_t count = 0;
  for (std::uint64_t number = 0; number < effort.tuning.scale_moves; ++number) {
    // Draws that no move uses: those count up from 0.
    const random::RandomBits draw = effort.random.at(effort.round, UINT64_MAX - number);
    const ExpertId out = choose_leaver(draw, num_blocks);
    const Swap swap{out, neighbour(out, draw.word(2))};
    if (is_between_ranks(swap)) {
      total += std::abs(cost_after(swap) - cost_);
      ++count;
    }
  }
  return count > 0 ? total / count : 0;
}

void BlockAnnealer::apply(const Swap& swap, std::int64_t cost) {
  if (cost > cost_) {
    keep_best();
  }
  const EpRank a = rank_of_[swap.out];
  const EpRank b = rank_of_[swap.in];
  tree_.exchange(a, b, swap.out, swap.in);
  std::swap(member_[place_[swap.out]], member_[place_[swap.in]]);
  std::swap(place_[swap.out], place_[swap.in]);
  rank_of_[swap.out] = b;
  rank_of_[swap.in] = a;
  cost_ = cost;
  if (cost_ < best_cost_) {
    best_cost_ = cost_;
    best_is_current_ = true;
  } else if (best_is_current_ && cost_ > best_cost_) {
    best_is_current_ = false;
  }
}

void BlockAnnealer::keep_best() {
  if (best_is_current_) {
    best_ranks_ = rank_of_;
  }
}

BlockPlacement anneal_layer(
    std::span<const std::uint32_t> demand_by_expert_block,
    int num_blocks,
    int ep,
    const LayerPlacement& start,
    const AnnealingEffort& effort
) {
  const BlockDemand demand = view_blocks(demand_by_expert_block, num_blocks, start.size());
  const LayerPlacement& reference = effort.current != nullptr ? *effort.current : start;
  const BlockState before{demand, ranks_of(start, ep), ep};
  BlockAnnealer annealer{before, effort.tuning.reach, effort.simd};
  annealer.run(effort, num_blocks);
  BlockPlacement result;
  result.sum_before = before.sum_peaks();
  result.sum_peaks = BlockState{demand, annealer.best(), ep}.sum_peaks();
  RelabelledLayer relabelled = relabel_layer(annealer.best(), reference, ep);
  result.moved_experts = relabelled.moved_experts;
  result.slots = std::move(relabelled.slots);
  return result;
}

}  // namespace routepack::placement
