// A small but whole MoE trainer with replayed routing: rows of cells, all-to-all dispatch over EP,
// gradients reduced over DP and EDP, Adam with expert state sharded over EDP.
#pragma once

#include <memory>
#include <vector>

#include "routepack/transports.hpp"
#include "training/moe_layer.hpp"
#include "training/optimizer.hpp"

namespace routepack::training {

template <class Precision>
class Trainer {
 public:
  using Real = typename Precision::Real;

  // Collective, as is all below. comm: ep * edp ranks. `replay` must outlive the trainer.
  Trainer(
      const Shape& shape,
      const Replay& replay,
      const Placement& placement,
      const comm::Communicator& comm
  );

  // One optimizer step over all samples; returns the mean squared error before the update.
  double step(const CellLayout& layout);

  // The parts of a step.
  double compute_gradients(const CellLayout& layout);
  void update();

  // Between steps: experts move to another placement, with all that belongs to them.
  ShuffleReport move_experts(
      const Placement& target, const ShuffleOptions& options, const RegistryFault& fault
  );
  [[nodiscard]] const PlacementTable& table() const { return table_; }

  // Weights, optimizer state and gradients by logical expert; the router's as well.
  [[nodiscard]] LogicalState gather_state() const;

  // Adds to one weight, wherever copies of it are; for finite differences.
  void add_to_weight(MoeLayer layer, ExpertId expert, Parameter parameter, int at, double delta);
  void add_to_router(MoeLayer layer, ExpertId expert, int at, double delta);

 private:
  struct Token {
    SampleId sample;
    int number;
  };
  [[nodiscard]] double run_cell(const std::vector<Token>& tokens);
  [[nodiscard]] Real output_gradient(
      const std::vector<Token>& tokens,
      const std::vector<Real>& outputs,
      std::vector<Real>& gradient
  ) const;
  [[nodiscard]] std::span<Real> router_of(std::vector<Real>& values, MoeLayer layer) const;

  Shape shape_;
  const Replay& replay_;
  const comm::Communicator& comm_;
  comm::Communicator ep_group_;   // of this rank's EDP shard
  comm::Communicator edp_group_;  // of this rank's EP rank
  TransportHandle transport_;
  PlacementTable table_;
  ExpertState<Precision> experts_;
  struct Router {  // [layers, experts, hidden], the same on every rank
    std::vector<Real> weights;
    std::vector<Real> exp_avg;
    std::vector<Real> exp_avg_sq;
    std::vector<Real> gradient;
  };
  Router router_;
  std::vector<Real> expert_gradient_;  // of this rank's cells and experts, flat order
  int steps_done_ = 0;
};

}  // namespace routepack::training
