// Weights of a token's experts: softmax of the router's logits over the replayed experts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace routepack::training {

template <class Real>
[[nodiscard]] std::vector<Real> softmax(const std::vector<Real>& logits) {
  const Real highest = *std::max_element(logits.begin(), logits.end());
  std::vector<Real> weights;
  Real sum{0};
  for (const Real logit : logits) {
    weights.push_back(std::exp(logit - highest));
    sum += weights.back();
  }
  for (Real& weight : weights) {
    weight /= sum;
  }
  return weights;
}

// Gradient of the logits from that of the weights.
template <class Real>
[[nodiscard]] std::vector<Real> softmax_backward(
    const std::vector<Real>& weights, std::span<const Real> gradient
) {
  Real mean{0};
  for (std::size_t at = 0; at < weights.size(); ++at) {
    mean += weights[at] * gradient[at];
  }
  std::vector<Real> logits;
  for (std::size_t at = 0; at < weights.size(); ++at) {
    logits.push_back(weights[at] * (gradient[at] - mean));
  }
  return logits;
}

}  // namespace routepack::training
