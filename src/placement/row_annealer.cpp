#include "placement/row_annealer.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace routepack {
namespace {

// The temperature follows the share of accepted moves, which falls evenly over the stages: what is
// hot differs more between layers than what share pays.
constexpr int kNumStages = 40;
constexpr int kColdStages = 2;  // of them, at the end: downhill only
constexpr double kFirstAccepted = 0.12;
constexpr double kLastAccepted = 0.005;
constexpr double kFirstHeat = 0.05;  // of the mean change
constexpr std::uint64_t kScaleMoves = 256;
// A swap of experts of like demand upsets few blocks: most proposals are such.
constexpr std::uint32_t kReach = 4;  // in the order of demand

// What brings the share of accepted moves near that of the next stage. Arithmetic of literals and
// counts only: the same bits on every machine.
double correction(int stage, std::int64_t accepted, std::int64_t moves) {
  const double done = static_cast<double>(stage) / kNumStages;
  const double wanted = kFirstAccepted + (kLastAccepted - kFirstAccepted) * done;
  const double found =
      static_cast<double>(accepted) / static_cast<double>(std::max<std::int64_t>(moves, 1));
  constexpr double kNone = 0.005;  // keeps the quotient finite
  return std::clamp((wanted + kNone) / (found + kNone), 0.6, 1.5);
}

}  // namespace

RowAnnealer::RowAnnealer(const BlockState& start, MovePrice price, SimdLevel simd)
    : price_(std::move(price)),
      tree_(start, row_kernels(simd, PairObjective::kPeaks)),
      slots_(start.experts(EpRank{0}).size()),
      rank_of_(start.rank_of_experts()),
      place_(rank_of_.size(), 0),
      position_(rank_of_.size(), 0),
      moved_(count_moved(price_.home, rank_of_)),
      cost_((tree_.sum_peaks() + price_.price * moved_) * kCostUnits),
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

void RowAnnealer::run(const AnnealingEffort& effort, int num_blocks) {
  if (slots_ == 1 || slots_ == rank_of_.size()) {
    return;  // every placement has the same peaks
  }
  auto temperature = kFirstHeat * static_cast<double>(mean_change(effort, num_blocks));
  std::int64_t first = 0;
  for (int stage = 1; stage <= kNumStages; ++stage) {
    const bool cold = stage > kNumStages - kColdStages;
    const std::int64_t last = effort.num_moves * stage / kNumStages;
    const std::int64_t accepted = run_stage(
        effort, num_blocks, {first, last}, cold ? 0 : static_cast<std::int64_t>(temperature)
    );
    temperature *= correction(stage, accepted, last - first);
    first = last;
  }
  keep_best();
}

std::int64_t RowAnnealer::run_stage(
    const AnnealingEffort& effort, int num_blocks, MoveRange range, std::int64_t temperature
) {
  std::int64_t accepted = 0;
  for (std::int64_t number = range.first; number < range.last; ++number) {
    const Block draw = effort.random.at(effort.round, static_cast<std::uint64_t>(number));
    const Swap swap = propose(draw, num_blocks);
    if (!is_allowed(swap)) {
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
ExpertId RowAnnealer::choose_leaver(const Block& draw, int num_blocks) const {
  const std::size_t block = draw.below(0, static_cast<std::uint32_t>(num_blocks));
  const EpRank peak = tree_.peak_rank(block);
  return member_[peak.offset() * slots_ + draw.below(1, static_cast<std::uint32_t>(slots_))];
}

RowAnnealer::Swap RowAnnealer::propose(const Block& draw, int num_blocks) const {
  const ExpertId out = choose_leaver(draw, num_blocks);
  const bool near = (draw.word(1) & 3U) != 0;
  return {
      out, near ? neighbour(out, draw.word(2))
                : ExpertId{static_cast<std::int32_t>(
                      draw.below(2, static_cast<std::uint32_t>(rank_of_.size()))
                  )}};
}

bool RowAnnealer::is_allowed(const Swap& swap) const {
  if (rank_of_[swap.out] == rank_of_[swap.in]) {
    return false;
  }
  const std::int32_t change = moves(swap);
  return change <= 0 || moved_ + change <= price_.max_moved;
}

// Another within kReach places in the order of demand; the expert itself where that runs out.
ExpertId RowAnnealer::neighbour(ExpertId expert, std::uint32_t random) const {
  const std::size_t distance = 1 + ((random >> 1U) % kReach);
  const std::size_t at = position_[expert];
  if ((random & 1U) != 0) {
    return at + distance < by_demand_.size() ? by_demand_[at + distance] : expert;
  }
  return at >= distance ? by_demand_[at - distance] : expert;
}

std::int32_t RowAnnealer::moves(const Swap& swap) const {
  return price_.moves(swap.out, rank_of_[swap.out], rank_of_[swap.in]) +
         price_.moves(swap.in, rank_of_[swap.in], rank_of_[swap.out]);
}

std::int64_t RowAnnealer::cost_after(const Swap& swap) {
  const std::int64_t sum =
      tree_.sum_after(rank_of_[swap.out], rank_of_[swap.in], swap.out, swap.in);
  return (sum + price_.price * (moved_ + moves(swap))) * kCostUnits;
}

std::int64_t RowAnnealer::mean_change(const AnnealingEffort& effort, int num_blocks) {
  std::int64_t total = 0;
  std::int64_t count = 0;
  for (std::uint64_t number = 0; number < kScaleMoves; ++number) {
    // Draws that no move uses: those count up from 0.
    const Block draw = effort.random.at(effort.round, UINT64_MAX - number);
    const ExpertId out = choose_leaver(draw, num_blocks);
    const Swap swap{out, neighbour(out, draw.word(2))};
    if (is_allowed(swap)) {
      total += std::abs(cost_after(swap) - cost_);
      ++count;
    }
  }
  return count > 0 ? total / count : 0;
}

void RowAnnealer::apply(const Swap& swap, std::int64_t cost) {
  if (cost > cost_) {
    keep_best();
  }
  const EpRank a = rank_of_[swap.out];
  const EpRank b = rank_of_[swap.in];
  tree_.exchange(a, b, swap.out, swap.in);
  moved_ += moves(swap);
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

void RowAnnealer::keep_best() {
  if (best_is_current_) {
    best_ranks_ = rank_of_;
  }
}

}  // namespace routepack
