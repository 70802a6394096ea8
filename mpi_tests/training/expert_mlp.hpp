// One token through one expert: y = fc2 (silu(gate) * up), with gate and up the halves of fc1 x.
// Sums run over ascending indices, so that a result does not depend on what else is computed.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace routepack::training {

// rows x columns matrix times a vector.
template <class Real, class Weight>
[[nodiscard]] std::vector<Real> multiply(std::span<const Weight> matrix, std::span<const Real> x) {
  std::vector<Real> product(matrix.size() / x.size(), Real{0});
  for (std::size_t row = 0; row < product.size(); ++row) {
    for (std::size_t column = 0; column < x.size(); ++column) {
      product[row] += static_cast<Real>(matrix[row * x.size() + column]) * x[column];
    }
  }
  return product;
}

// gradient += rows columns^T
template <class Real>
void add_outer_product(
    std::span<Real> gradient, std::span<const Real> rows, std::span<const Real> columns
) {
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t column = 0; column < columns.size(); ++column) {
      gradient[row * columns.size() + column] += rows[row] * columns[column];
    }
  }
}

template <class Weight>
struct ExpertWeights {
  std::span<const Weight> fc1;
  std::span<const Weight> fc2;
  std::span<const Weight> fc2_transposed;  // for the backward pass
};

// silu(z) = z sigmoid(z) and its derivative.
template <class Real>
struct Silu {
  explicit Silu(Real z) {
    const Real sigmoid = Real{1} / (Real{1} + std::exp(-z));
    value = z * sigmoid;
    slope = sigmoid * (Real{1} + z * (Real{1} - sigmoid));
  }
  Real value;
  Real slope;
};

template <class Real>
struct Activations {
  std::vector<Real> halves;  // gate, up
  std::vector<Real> hidden;  // silu(gate) * up
};

template <class Real, class Weight>
[[nodiscard]] Activations<Real> activate(
    const ExpertWeights<Weight>& weights, std::span<const Real> x
) {
  Activations<Real> act{multiply<Real, Weight>(weights.fc1, x), {}};
  const std::size_t ffn = act.halves.size() / 2;
  for (std::size_t at = 0; at < ffn; ++at) {
    act.hidden.push_back(Silu<Real>{act.halves[at]}.value * act.halves[ffn + at]);
  }
  return act;
}

template <class Real, class Weight>
[[nodiscard]] std::vector<Real> expert_forward(
    const ExpertWeights<Weight>& weights, std::span<const Real> x
) {
  const Activations<Real> act = activate<Real, Weight>(weights, x);
  return multiply<Real, Weight>(weights.fc2, act.hidden);
}

// Adds to the gradients of the two matrices; returns that of x. Recomputes the activations.
template <class Real, class Weight>
[[nodiscard]] std::vector<Real> expert_backward(
    const ExpertWeights<Weight>& weights,
    std::span<const Real> x,
    std::span<const Real> y_gradient,
    std::span<Real> fc1_gradient,
    std::span<Real> fc2_gradient
) {
  const Activations<Real> act = activate<Real, Weight>(weights, x);
  add_outer_product<Real>(fc2_gradient, y_gradient, act.hidden);
  const std::vector<Real> hidden_gradient =
      multiply<Real, Weight>(weights.fc2_transposed, y_gradient);
  const std::size_t ffn = hidden_gradient.size();
  std::vector<Real> halves_gradient(2 * ffn);
  for (std::size_t at = 0; at < ffn; ++at) {
    const Silu<Real> silu{act.halves[at]};
    halves_gradient[at] = hidden_gradient[at] * act.halves[ffn + at] * silu.slope;
    halves_gradient[ffn + at] = hidden_gradient[at] * silu.value;
  }
  add_outer_product<Real>(fc1_gradient, halves_gradient, x);
  std::vector<Real> x_gradient(x.size(), Real{0});
  for (std::size_t row = 0; row < halves_gradient.size(); ++row) {
    for (std::size_t column = 0; column < x.size(); ++column) {
      x_gradient[column] +=
          static_cast<Real>(weights.fc1[row * x.size() + column]) * halves_gradient[row];
    }
  }
  return x_gradient;
}

}  // namespace routepack::training
