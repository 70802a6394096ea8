#include "training/moe_layer.hpp"

#include "training/gate.hpp"

namespace routepack::training {
namespace {

std::vector<Assignment> assign(
    const std::vector<std::vector<ExpertId>>& routes, const LayerPlacement& placement
) {
  std::vector<Assignment> assignments;
  for (std::size_t token = 0; token < routes.size(); ++token) {
    for (std::size_t choice = 0; choice < routes[token].size(); ++choice) {
      assignments.push_back(Assignment{token, choice, placement[routes[token][choice]]});
    }
  }
  return assignments;
}

template <class Real>
Real dot(std::span<const Real> a, std::span<const Real> b) {
  Real sum{0};
  for (std::size_t at = 0; at < a.size(); ++at) {
    sum += a[at] * b[at];
  }
  return sum;
}

}  // namespace

template <class Precision>
MoeLayerPass<Precision>::MoeLayerPass(
    const Shape& shape,
    MoeLayer layer,
    std::vector<std::vector<ExpertId>> routes,
    const LayerPlacement& placement,
    const ExpertState<Precision>& experts,
    std::span<const Real> router,
    const comm::Communicator& ep_group
)
    : shape_(shape),
      hidden_(static_cast<std::size_t>(shape.hidden)),
      layer_(layer),
      routes_(std::move(routes)),
      experts_(experts),
      router_(router),
      dispatch_(assign(routes_, placement), shape, ep_group) {}

template <class Precision>
auto MoeLayerPass<Precision>::gather_rows(const std::vector<Real>& rows) const
    -> std::vector<Real> {
  std::vector<Real> gathered;
  for (const Assignment& assignment : dispatch_.assignments()) {
    const std::span<const Real> values = row(rows, assignment.token);
    gathered.insert(gathered.end(), values.begin(), values.end());
  }
  return gathered;
}

template <class Precision>
void MoeLayerPass<Precision>::compute_gates() {
  gates_.clear();
  for (std::size_t token = 0; token < routes_.size(); ++token) {
    std::vector<Real> logits;
    for (const ExpertId expert : routes_[token]) {
      logits.push_back(dot(router_row(expert), row(x_, token)));
    }
    gates_.push_back(softmax(logits));
  }
}

template <class Precision>
auto MoeLayerPass<Precision>::forward(std::vector<Real> x) -> std::vector<Real> {
  x_ = std::move(x);
  compute_gates();
  arrived_ = dispatch_.to_experts(gather_rows(x_), hidden_);
  std::vector<Real> outputs;
  for (std::size_t n = 0; n < dispatch_.arriving_slots().size(); ++n) {
    const std::vector<Real> y =
        expert_forward<Real>(experts_.expert(layer_, local_slot(n)), row(arrived_, n));
    outputs.insert(outputs.end(), y.begin(), y.end());
  }
  returned_ = dispatch_.to_tokens(outputs, hidden_);
  std::vector<Real> mixed(x_.size(), Real{0});
  for (std::size_t n = 0; n < dispatch_.assignments().size(); ++n) {  // in slot order
    const Assignment& assignment = dispatch_.assignments()[n];
    const Real gate = gates_[assignment.token][assignment.choice];
    for (std::size_t at = 0; at < hidden_; ++at) {
      mixed[assignment.token * hidden_ + at] += gate * returned_[n * hidden_ + at];
    }
  }
  for (std::size_t at = 0; at < mixed.size(); ++at) {
    mixed[at] += x_[at];
  }
  return mixed;
}

template <class Precision>
auto MoeLayerPass<Precision>::backward(
    const std::vector<Real>& gradient,
    std::span<Real> expert_gradient,
    std::span<Real> router_gradient
) -> std::vector<Real> {
  std::vector<std::vector<Real>> gate_gradients;
  for (const std::vector<ExpertId>& route : routes_) {
    gate_gradients.emplace_back(route.size(), Real{0});
  }
  std::vector<Real> weighted = gather_rows(gradient);  // gradient of each expert's output
  for (std::size_t n = 0; n < dispatch_.assignments().size(); ++n) {
    const Assignment& assignment = dispatch_.assignments()[n];
    gate_gradients[assignment.token][assignment.choice] =
        dot(row(gradient, assignment.token), row(returned_, n));
    for (std::size_t at = 0; at < hidden_; ++at) {
      weighted[n * hidden_ + at] *= gates_[assignment.token][assignment.choice];
    }
  }
  const std::vector<Real> arrived_gradient = dispatch_.to_experts(weighted, hidden_);
  std::vector<Real> inputs;
  for (std::size_t n = 0; n < dispatch_.arriving_slots().size(); ++n) {
    const auto part = [&](Parameter parameter) {
      return expert_gradient.subspan(
          static_cast<std::size_t>(shape_.flat_offset(layer_, parameter, local_slot(n))),
          static_cast<std::size_t>(shape_.elements(parameter))
      );
    };
    const std::vector<Real> dx = expert_backward<Real>(
        experts_.expert(layer_, local_slot(n)), row(arrived_, n), row(arrived_gradient, n),
        part(Parameter::kFc1), part(Parameter::kFc2)
    );
    inputs.insert(inputs.end(), dx.begin(), dx.end());
  }
  const std::vector<Real> returned = dispatch_.to_tokens(inputs, hidden_);
  std::vector<Real> x_gradient(x_.size(), Real{0});
  for (std::size_t n = 0; n < dispatch_.assignments().size(); ++n) {  // in slot order
    for (std::size_t at = 0; at < hidden_; ++at) {
      x_gradient[dispatch_.assignments()[n].token * hidden_ + at] += returned[n * hidden_ + at];
    }
  }
  for (std::size_t token = 0; token < routes_.size(); ++token) {
    const std::span<Real> token_gradient = std::span{x_gradient}.subspan(token * hidden_, hidden_);
    backward_router(token, gate_gradients[token], token_gradient, router_gradient);
  }
  for (std::size_t at = 0; at < x_gradient.size(); ++at) {
    x_gradient[at] += gradient[at];
  }
  return x_gradient;
}

template <class Precision>
void MoeLayerPass<Precision>::backward_router(
    std::size_t token,
    std::span<const Real> gate_gradient,
    std::span<Real> x_gradient,
    std::span<Real> router_gradient
) const {
  const std::vector<Real> logits = softmax_backward(gates_[token], gate_gradient);
  for (std::size_t choice = 0; choice < logits.size(); ++choice) {
    const ExpertId expert = routes_[token][choice];
    for (std::size_t at = 0; at < hidden_; ++at) {
      router_gradient[expert.offset() * hidden_ + at] += logits[choice] * row(x_, token)[at];
      x_gradient[at] += logits[choice] * router_row(expert)[at];
    }
  }
}

template class MoeLayerPass<MixedPrecision>;
template class MoeLayerPass<SinglePrecision>;
template class MoeLayerPass<DoublePrecision>;

}  // namespace routepack::training
