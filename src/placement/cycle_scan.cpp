#include "placement/cycle_scan.hpp"

#include <algorithm>
#include <vector>

namespace routepack {
namespace {

class CycleScan {
 public:
  CycleScan(const BlockState& state, const MovePrice& price)
      : state_(state), price_(price), stride_(state.demand().stride()), others_(stride_, 0) {}

  // All cycles in which rank a's expert goes to b, b's to c and c's to a.
  void scan(EpRank a, EpRank b, EpRank c) {
    const std::array<EpRank, 3> ranks = {a, b, c};
    find_others(ranks);
    for (const ExpertId from_a : state_.experts(a)) {
      for (const ExpertId from_b : state_.experts(b)) {
        for (const ExpertId from_c : state_.experts(c)) {
          judge(ranks, {from_a, from_b, from_c});
        }
      }
    }
  }

  [[nodiscard]] const std::optional<ExpertCycle>& best() const { return best_; }

 private:
  // Peaks of the other ranks, and the sum of all peaks as they are.
  void find_others(const std::array<EpRank, 3>& ranks) {
    std::fill(others_.begin(), others_.end(), 0U);
    for (const EpRank rank : ids<EpRank>(state_.ep())) {
      if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) {
        const std::uint32_t* const load = state_.loads(rank);
        for (std::size_t block = 0; block < stride_; ++block) {
          others_[block] = std::max(others_[block], load[block]);
        }
      }
    }
  }

  void judge(const std::array<EpRank, 3>& ranks, const std::array<ExpertId, 3>& experts) {
    std::array<const std::uint32_t*, 3> load{};
    std::array<const std::uint32_t*, 3> demand{};
    std::int32_t moves = 0;
    for (std::size_t n = 0; n < ranks.size(); ++n) {
      load[n] = state_.loads(ranks[n]);
      demand[n] = state_.demand().of(experts[n]);
      moves += price_.moves(experts[n], ranks[n], ranks[(n + 1) % 3]);
    }
    std::int64_t sum = 0;
    for (std::size_t block = 0; block < stride_; ++block) {
      const std::uint32_t a = load[0][block] - demand[0][block] + demand[2][block];
      const std::uint32_t b = load[1][block] - demand[1][block] + demand[0][block];
      const std::uint32_t c = load[2][block] - demand[2][block] + demand[1][block];
      sum += std::max(std::max(a, b), std::max(c, others_[block]));
    }
    const std::int64_t change = sum - before_;
    const std::int64_t cost = change + price_.price * moves;
    if (cost < best_cost_) {
      best_cost_ = cost;
      best_ = ExpertCycle{experts, change, moves};
    }
  }

  const BlockState& state_;
  const MovePrice& price_;
  std::size_t stride_;
  std::vector<std::uint32_t> others_;
  std::int64_t before_ = state_.sum_peaks();
  std::int64_t best_cost_ = 0;
  std::optional<ExpertCycle> best_;
};

}  // namespace

std::optional<ExpertCycle> find_best_cycle(const BlockState& state, const MovePrice& price) {
  CycleScan scan(state, price);
  for (const EpRank a : ids<EpRank>(state.ep())) {
    for (const EpRank b : ids<EpRank>(state.ep())) {
      for (const EpRank c : ids<EpRank>(state.ep())) {
        if (a < b && a < c && b != c) {  // a circle starts at its lowest rank
          scan.scan(a, b, c);
        }
      }
    }
  }
  return scan.best();
}

}  // namespace routepack
