#include "placement/aggregate/bounds.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "base/check.hpp"

namespace routepack::placement {
namespace {

// Of the (held-1)*ep + 1 hottest experts some rank holds at least `held`; at the least the lightest
// of these, and the lightest of all in its other slots (the two sets never meet).
std::int64_t pigeonhole_bound(
    const std::vector<std::int64_t>& descending, std::ptrdiff_t ep, std::ptrdiff_t held
) {
  const auto num_experts = std::ssize(descending);
  const auto begin = descending.begin();
  const std::ptrdiff_t prefix = (held - 1) * ep + 1;
  const std::ptrdiff_t others = num_experts / ep - held;
  const auto sum = [](auto first, auto last) {
    return std::accumulate(first, last, std::int64_t{0});
  };
  return sum(begin + (prefix - held), begin + prefix) +
         sum(descending.end() - others, descending.end());
}

// The j hottest experts either sit on j ranks, whose mean load counts them and the lightest experts
// in all other slots there, or two of them share one. The best over j = 1 … ep; with j = 1 the
// hottest expert among the lightest.
std::int64_t spread_bound(const std::vector<std::int64_t>& descending, std::ptrdiff_t ep) {
  const auto num_experts = std::ssize(descending);
  const std::ptrdiff_t slots = num_experts / ep;
  const auto lightest = [&](std::ptrdiff_t place) {
    return descending[static_cast<std::size_t>(num_experts - 1 - place)];
  };
  std::int64_t lightest_two_less = 0;  // of a rank's slots beside two hot experts
  for (std::ptrdiff_t place = 0; place < slots - 2; ++place) {
    lightest_two_less += lightest(place);
  }
  std::int64_t bound = 0;
  std::int64_t sum = 0;
  for (std::ptrdiff_t held = 1; held <= ep; ++held) {
    const auto hot = static_cast<std::size_t>(held - 1);
    sum += descending[hot];
    for (std::ptrdiff_t place = (held - 1) * (slots - 1); place < held * (slots - 1); ++place) {
      sum += lightest(place);
    }
    std::int64_t on_ranks = base::ceil_divide(sum, std::int64_t{held});
    if (held > 1 && slots > 1) {
      on_ranks = std::min(on_ranks, descending[hot - 1] + descending[hot] + lightest_two_less);
    }
    bound = std::max(bound, on_ranks);
  }
  return bound;
}

// Heaviest with lightest, second with second lightest: no other pairing has a lower peak.
std::int64_t pairing_peak(const std::vector<std::int64_t>& descending) {
  std::int64_t peak = 0;
  for (std::size_t hot = 0; hot < descending.size() / 2; ++hot) {
    peak = std::max(peak, descending[hot] + descending[descending.size() - 1 - hot]);
  }
  return peak;
}

}  // namespace

std::int64_t peak_lower_bound(std::span<const std::int64_t> demand, int ep) {
  std::vector<std::int64_t> descending(demand.begin(), demand.end());
  std::sort(descending.begin(), descending.end(), std::greater<>{});
  const auto slots = std::ssize(descending) / ep;
  if (slots == 2) {
    return pairing_peak(descending);
  }
  const std::int64_t total = std::accumulate(descending.begin(), descending.end(), std::int64_t{0});
  std::int64_t bound =
      std::max(base::ceil_divide(total, std::int64_t{ep}), spread_bound(descending, ep));
  for (std::ptrdiff_t held = 1; held <= slots; ++held) {
    bound = std::max(bound, pigeonhole_bound(descending, ep, held));
  }
  return bound;
}

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

}  // namespace routepack::placement
