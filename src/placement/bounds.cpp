#include "placement/bounds.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "base/checked.hpp"

namespace routepack {
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
    std::int64_t on_ranks = ceil_divide(sum, std::int64_t{held});
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
  std::int64_t bound = std::max(ceil_divide(total, std::int64_t{ep}), spread_bound(descending, ep));
  for (std::ptrdiff_t held = 1; held <= slots; ++held) {
    bound = std::max(bound, pigeonhole_bound(descending, ep, held));
  }
  return bound;
}

}  // namespace routepack
