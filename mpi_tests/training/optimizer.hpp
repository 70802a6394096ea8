// Adam, and the two collectives around it when its state is sharded. Sums over ranks run in rank
// order, and every element is treated alike wherever it lies.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "training/exchange.hpp"

namespace routepack::training {

struct Adam {
  double learning_rate = 0.03;
  double beta1 = 0.9;
  double beta2 = 0.95;
  // Large beside usual values: where gradients are small, the update is a smooth function of them,
  // so that rounding of gradients stays rounding of weights.
  double epsilon = 1e-3;

  // `step` counts from 1.
  template <class Real>
  void apply(
      std::span<Real> weights,
      std::span<Real> exp_avg,
      std::span<Real> exp_avg_sq,
      std::span<const Real> gradient,
      int step
  ) const {
    const auto b1 = static_cast<Real>(beta1);
    const auto b2 = static_cast<Real>(beta2);
    const Real correction1 = Real{1} - std::pow(b1, static_cast<Real>(step));
    const Real correction2 = Real{1} - std::pow(b2, static_cast<Real>(step));
    for (std::size_t at = 0; at < weights.size(); ++at) {
      const Real g = gradient[at];
      exp_avg[at] = b1 * exp_avg[at] + (Real{1} - b1) * g;
      exp_avg_sq[at] = b2 * exp_avg_sq[at] + (Real{1} - b2) * g * g;
      const Real denominator = std::sqrt(exp_avg_sq[at] / correction2) + static_cast<Real>(epsilon);
      weights[at] -= static_cast<Real>(learning_rate) * (exp_avg[at] / correction1) / denominator;
    }
  }
};

// Collective. Sums `values` over the ranks of the group, in rank order; this rank gets the part
// that it owns of the result (part p has sizes[p] elements).
template <class Real>
[[nodiscard]] std::vector<Real> reduce_scatter(
    const std::vector<Real>& values,
    const std::vector<std::size_t>& sizes,
    const comm::Communicator& group
) {
  const std::vector<std::vector<Real>> parts = exchange_parts(values, sizes, group);
  std::vector<Real> sum = parts.front();
  for (std::size_t rank = 1; rank < parts.size(); ++rank) {
    for (std::size_t at = 0; at < sum.size(); ++at) {
      sum[at] += parts[rank][at];
    }
  }
  return sum;
}

}  // namespace routepack::training
