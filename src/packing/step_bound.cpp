#include "packing/step_bound.hpp"

#include <algorithm>
#include <string>

#include "packing/weights.hpp"

namespace routepack {
namespace {

// A length of λ to 2λ-1 tokens, or the room beside a long sample, and how many more there are of
// the former than of the latter.
struct Offer {
  std::int64_t tokens = 0;
  std::int64_t surplus = 0;
};

// All lengths up to C/2 and all rooms below, ascending.
std::vector<Offer> list_offers(const std::vector<LengthCount>& lengths, std::int64_t capacity) {
  std::vector<Offer> offers;
  for (const LengthCount& entry : lengths) {
    const std::int64_t room = capacity - entry.length;
    if (entry.length <= room) {
      offers.push_back({entry.length, entry.count});
    } else if (room > 0) {
      offers.push_back({room, -entry.count});
    }
  }
  std::sort(offers.begin(), offers.end(), [](const Offer& a, const Offer& b) {
    return a.tokens < b.tokens;
  });
  std::vector<Offer> merged;
  for (const Offer& offer : offers) {
    if (!merged.empty() && merged.back().tokens == offer.tokens) {
      merged.back().surplus += offer.surplus;
    } else {
      merged.push_back(offer);
    }
  }
  return merged;
}

// Offers first … end-1 are those of λ to 2λ-1 tokens. With S(x) the surplus of x and more tokens,
// weights w add up to Σ_t S(x_t), x_t >= t being where w reaches level t: best at the maximum of S.
struct Steps {
  std::int64_t tokens = 0;                // Σ w · surplus
  std::vector<std::int64_t> step_height;  // of each offer
};

Steps best_steps(const std::vector<Offer>& offers, std::size_t first, std::size_t end) {
  Steps steps;
  steps.step_height.assign(end - first, 0);
  std::int64_t surplus = 0;
  std::int64_t best_surplus = 0;
  std::size_t best = end;  // 2λ: the step lies beyond these offers
  for (std::size_t at = end; at-- > first;) {
    surplus += offers[at].surplus;
    if (surplus > best_surplus) {
      best_surplus = surplus;
      best = at;
    }
    const std::int64_t levels = offers[at].tokens - (at == first ? 0 : offers[at - 1].tokens);
    steps.tokens += levels * best_surplus;
    if (best < end) {
      steps.step_height[best - first] += levels;
    }
  }
  return steps;
}

CellBound make_bound(
    std::int64_t lambda,
    std::int64_t capacity,
    const std::vector<Offer>& offers,
    std::size_t first,
    const Steps& steps
) {
  CellBound bound;
  bound.kind = std::string{"l2_steps"};
  bound.lambda = lambda;
  bound.scale = capacity;
  std::int64_t weight = 0;
  for (std::size_t n = 0; n < steps.step_height.size(); ++n) {
    if (steps.step_height[n] > 0) {
      weight += steps.step_height[n];
      bound.lengths.push_back(offers[first + n].tokens);
      bound.weights.push_back(weight);
    }
  }
  return bound;
}

}  // namespace

CellBound best_step_bound(const std::vector<LengthCount>& lengths, std::int64_t capacity) {
  const std::vector<Offer> offers = list_offers(lengths, capacity);
  const auto first_not_below = [&](std::int64_t tokens) {
    return static_cast<std::size_t>(
        std::lower_bound(
            offers.begin(), offers.end(), tokens,
            [](const Offer& offer, std::int64_t value) { return offer.tokens < value; }
        ) -
        offers.begin()
    );
  };
  // Of samples of at least 2λ tokens and at most C - 2λ each token counts; of longer ones all C.
  std::vector<std::int64_t> tokens_up_to{0};
  std::vector<std::int64_t> count_up_to{0};
  for (const LengthCount& entry : lengths) {
    tokens_up_to.push_back(tokens_up_to.back() + entry.length * entry.count);
    count_up_to.push_back(count_up_to.back() + entry.count);
  }
  const auto shorter_than = [&](std::int64_t tokens) {
    return static_cast<std::size_t>(
        std::lower_bound(
            lengths.begin(), lengths.end(), tokens,
            [](const LengthCount& entry, std::int64_t value) { return entry.length < value; }
        ) -
        lengths.begin()
    );
  };
  CellBound best;
  std::int64_t best_total = -1;
  for (const LengthCount& entry : lengths) {
    const std::int64_t lambda = entry.length;
    if (lambda > capacity / 4) {
      break;
    }
    const std::size_t middle = shorter_than(2 * lambda);
    const std::size_t beyond = shorter_than(capacity - 2 * lambda + 1);
    const std::size_t first = first_not_below(lambda);
    const Steps steps = best_steps(offers, first, first_not_below(2 * lambda));
    const std::int64_t total = tokens_up_to[beyond] - tokens_up_to[middle] + steps.tokens +
                               capacity * (count_up_to.back() - count_up_to[beyond]);
    if (total > best_total) {
      best_total = total;
      best = make_bound(lambda, capacity, offers, first, steps);
    }
  }
  if (!best.kind.empty()) {
    best.cells = weighted_cells(best, lengths, capacity);
  }
  return best;
}

}  // namespace routepack
