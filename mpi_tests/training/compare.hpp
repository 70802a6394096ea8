// How far two training runs are apart.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "training/run.hpp"

namespace routepack::training {

// The largest difference of any value of a kind of state, relative to the largest value of that
// kind; of any loss, relative to the loss. Gradients are left out: where they were summed, they
// are in the moments.
struct Difference {
  double relative = 0.0;
  std::string where;
};

[[nodiscard]] inline Difference find_largest_difference(const Trained& a, const Trained& b) {
  Difference largest;
  const auto keep = [&](double relative, const std::string& where) {
    if (!(relative <= largest.relative)) {  // NaN is kept as well
      largest = Difference{relative, where};
    }
  };
  for (std::size_t step = 0; step < a.losses.size(); ++step) {
    keep(
        std::abs(a.losses[step] - b.losses[step]) / a.losses[step],
        "loss of step " + std::to_string(step)
    );
  }
  for (const auto& [kind, values] : a.state) {
    if (kind.ends_with("gradient")) {
      continue;
    }
    double scale = 0.0;
    double difference = 0.0;
    for (std::size_t at = 0; at < values.size(); ++at) {
      scale = std::max(scale, std::abs(values[at]));
      difference = std::max(difference, std::abs(values[at] - b.state.at(kind)[at]));
    }
    keep(difference / scale, kind);
  }
  return largest;
}

// What rounding may make of another order of summation. The longest sums have a term a token; of n
// terms, in any two orders, they differ by at most 2 n u times the sum of the magnitudes, u the
// unit roundoff. (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.2.)
// Over steps the differences do not grow: moments are averages, and the update, a fraction of the
// learning rate, is smooth thanks to Adam's epsilon. bf16 weights are no such case: where a
// difference tips a weight to the next bf16 number, it becomes 2^16 times as large.
template <class Real>
[[nodiscard]] double rounding_bound(int num_tokens) {
  return 2.0 * num_tokens * std::numeric_limits<Real>::epsilon() / 2.0;
}

}  // namespace routepack::training
