// One cell through one MoE layer, forward and backward: x + Σ weight · expert(x) over the replayed
// experts of each token.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "training/dispatch.hpp"
#include "training/expert_state.hpp"

namespace routepack::training {

template <class Precision>
class MoeLayerPass {
 public:
  using Real = typename Precision::Real;

  // Collective over the EP group, as is all below. `routes`: experts of every token of the cell.
  // `router`: [experts, hidden], by logical expert.
  MoeLayerPass(
      const Shape& shape,
      MoeLayer layer,
      std::vector<std::vector<ExpertId>> routes,
      const LayerPlacement& placement,
      const ExpertState<Precision>& experts,
      std::span<const Real> router,
      const comm::Communicator& ep_group
  );

  // `x` and the result: [tokens, hidden].
  [[nodiscard]] std::vector<Real> forward(std::vector<Real> x);
  // Gradient of x from that of the result. Adds to the gradients of this rank's experts (flat
  // order) and of the router.
  [[nodiscard]] std::vector<Real> backward(
      const std::vector<Real>& gradient,
      std::span<Real> expert_gradient,
      std::span<Real> router_gradient
  );

 private:
  [[nodiscard]] std::span<const Real> row(const std::vector<Real>& rows, std::size_t number) const {
    return std::span<const Real>{rows}.subspan(number * hidden_, hidden_);
  }
  [[nodiscard]] std::span<const Real> router_row(ExpertId expert) const {
    return router_.subspan(expert.offset() * hidden_, hidden_);
  }
  [[nodiscard]] std::vector<Real> gather_rows(const std::vector<Real>& rows) const;
  [[nodiscard]] int local_slot(std::size_t arriving) const {
    return dispatch_.arriving_slots()[arriving].value() % shape_.slots_per_ep_rank();
  }
  void compute_gates();
  void backward_router(
      std::size_t token,
      std::span<const Real> gate_gradient,
      std::span<Real> x_gradient,
      std::span<Real> router_gradient
  ) const;

  Shape shape_;
  std::size_t hidden_;
  MoeLayer layer_;
  std::vector<std::vector<ExpertId>> routes_;
  const ExpertState<Precision>& experts_;
  std::span<const Real> router_;
  Dispatch dispatch_;
  std::vector<Real> x_;
  std::vector<Real> arrived_;             // x of the tokens that came to this rank
  std::vector<Real> returned_;            // what experts made of this rank's, an assignment a row
  std::vector<std::vector<Real>> gates_;  // [token][choice]
};

}  // namespace routepack::training
