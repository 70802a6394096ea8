#include "placement/refute_peak.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace routepack {
namespace {

enum class Outcome { kRefuted, kFound, kGaveUp };

// Looks for a placement with no rank above a peak. Experts are numbered by descending demand.
class PeakSearch {
 public:
  PeakSearch(std::span<const std::int64_t> demand, int ep)
      : demand_(demand.begin(), demand.end()),
        ep_(ep),
        slots_(std::ssize(demand) / ep),
        placed_(demand.size(), 0) {
    std::sort(demand_.begin(), demand_.end(), std::greater<>());
    total_ = std::accumulate(demand_.begin(), demand_.end(), std::int64_t{0});
  }

  // Uses up steps of `steps_left`.
  [[nodiscard]] Outcome search(std::int64_t peak, std::int64_t& steps_left) {
    peak_ = peak;
    steps_left_ = steps_left;
    std::fill(placed_.begin(), placed_.end(), 0);
    const std::int64_t shortfall = ep_ * peak - total_;
    const Outcome outcome = shortfall < 0 ? Outcome::kRefuted : fill_ranks(ep_, shortfall);
    steps_left = steps_left_;
    return outcome;
  }

 private:
  // `shortfall`: by how much the loads of the ranks still to fill add up to less than the peak on
  // each of them.
  Outcome fill_ranks(int num_ranks, std::int64_t shortfall) {
    if (num_ranks == 0) {
      return Outcome::kFound;
    }
    const auto heaviest =
        static_cast<std::size_t>(std::find(placed_.begin(), placed_.end(), 0) - placed_.begin());
    return place(heaviest, slots_, 0, num_ranks, shortfall);
  }

  Outcome place(
      std::size_t expert,
      std::ptrdiff_t slots,
      std::int64_t load,
      int num_ranks,
      std::int64_t shortfall
  ) {
    if (steps_left_ <= 0) {
      return Outcome::kGaveUp;
    }
    --steps_left_;
    placed_[expert] = 1;
    load += demand_[expert];
    const Outcome outcome = slots > 1 ? fill_rank(expert + 1, slots - 1, load, num_ranks, shortfall)
                                      : fill_ranks(num_ranks - 1, shortfall - (peak_ - load));
    placed_[expert] = 0;
    return outcome;
  }

  // Tries all sets of `slots` unplaced experts from `first` on that keep the rank's load between
  // peak - shortfall and the peak.
  Outcome fill_rank(
      std::size_t first,
      std::ptrdiff_t slots,
      std::int64_t load,
      int num_ranks,
      std::int64_t shortfall
  ) {
    const std::int64_t others = (slots - 1) * demand_.back();  // at the least
    const auto from = demand_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto fits =
        std::lower_bound(from, demand_.end(), peak_ - load - others, std::greater<>());
    for (auto expert = static_cast<std::size_t>(fits - demand_.begin());
         expert < demand_.size() && load + slots * demand_[expert] >= peak_ - shortfall; ++expert) {
      if (placed_[expert] != 0) {
        continue;
      }
      const Outcome outcome = place(expert, slots, load, num_ranks, shortfall);
      if (outcome != Outcome::kRefuted) {
        return outcome;
      }
    }
    return Outcome::kRefuted;
  }

  std::vector<std::int64_t> demand_;
  int ep_;
  std::ptrdiff_t slots_;
  std::vector<std::uint8_t> placed_;  // 0 or 1
  std::int64_t total_ = 0;
  std::int64_t peak_ = 0;
  std::int64_t steps_left_ = 0;
};

}  // namespace

std::int64_t raise_peak_bound(
    std::span<const std::int64_t> demand, int ep, std::int64_t bound, std::int64_t max_steps
) {
  const auto slots = std::ssize(demand) / ep;
  constexpr std::int64_t kMaxSum = std::numeric_limits<std::int64_t>::max() / 8;  // room to step up
  if (slots < 3 || slots > 4 || bound > kMaxSum / ep) {
    return bound;
  }
  constexpr std::int64_t kFirstStep = 8192;  // of the bound
  constexpr int kBisections = 4;
  PeakSearch search(demand, ep);
  const auto refutes = [&](std::int64_t peak, std::int64_t part) {
    std::int64_t steps = max_steps / part;  // of what is left; the next peaks need some too
    max_steps -= steps;
    const bool refuted = search.search(peak, steps) == Outcome::kRefuted;
    max_steps += steps;
    return refuted;
  };
  // The lowest peak leaves the fewest sets: where not even that is refuted soon, no other will be.
  if (!refutes(bound, 8)) {
    return bound;
  }
  std::int64_t step = std::max<std::int64_t>(1, bound / kFirstStep);
  std::int64_t refuted = bound;
  std::int64_t open = bound + step;  // the lowest peak that was not refuted
  while (refutes(open, 2)) {
    refuted = open;
    step *= 2;
    open += step;
  }
  for (int bisection = 0; bisection < kBisections && refuted + 1 < open; ++bisection) {
    const std::int64_t middle = refuted + (open - refuted) / 2;
    (refutes(middle, 2) ? refuted : open) = middle;
  }
  return refuted + 1;
}

}  // namespace routepack
