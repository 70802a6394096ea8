// Expert weights and their optimizer state on one rank, as distributed optimizers keep them:
// working weights in one flat buffer that every EDP shard has whole; fp32 master weights, moments
// and reduced gradients in flat buffers of which this rank has its EDP shard's part.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "routepack/weights.hpp"
#include "training/expert_mlp.hpp"
#include "training/logical_state.hpp"
#include "training/precision.hpp"
#include "training/replay.hpp"

namespace routepack::training {

// What is wrong with a registry: nothing, or something about one kind of tensor.
struct RegistryFault {
  enum class What {
    kNone,
    kNotRegistered,   // though it is known to exist
    kUnknown,         // neither registered nor known to exist: no check can see that
    kOneSlotMissing,  // registered, but not for every expert
    kNotRebuilt,      // the derived tensor is not declared
  };
  What what = What::kNone;
  std::string kind;
};

template <class Precision>
class ExpertState {
 public:
  using Weight = typename Precision::Weight;
  using Real = typename Precision::Real;

  ExpertState(
      const Shape& shape,
      EpRank ep_rank,
      EdpShard shard,
      const Placement& placement,
      const Replay& replay
  );

  [[nodiscard]] ExpertWeights<Weight> expert(MoeLayer layer, int local_slot) const;
  [[nodiscard]] std::vector<Weight>& weights() { return weights_; }
  // Copies that follow from the weights; to be called when the layer's weights have changed.
  void rebuild_transposed(MoeLayer layer);

  // This rank's part of the flat buffers, from Shape::shard_begin(shard) on.
  struct Optimizer {
    std::vector<Real> master;
    std::vector<Real> exp_avg;
    std::vector<Real> exp_avg_sq;
    std::vector<Real> gradient;  // of the current step; need not move between steps
  };
  [[nodiscard]] Optimizer& optimizer() { return optimizer_; }

  // All that must move with an expert.
  [[nodiscard]] ExpertRegistry make_registry(const RegistryFault& fault);

  // Collective.
  [[nodiscard]] LogicalState gather(const Placement& placement, const comm::Communicator& comm)
      const;

 private:
  [[nodiscard]] SlotId slot_of(int local_slot) const {
    return SlotId{ep_rank_.value() * shape_.slots_per_ep_rank() + local_slot};
  }
  // Calls visit(layer, parameter, local slot) for every tensor, in flat order.
  void for_each_tensor(const std::function<void(MoeLayer, Parameter, int)>& visit) const;
  void add_weight(ExpertRegistry& registry, MoeLayer layer, Parameter parameter, int local_slot);
  void add_optimizer(
      ExpertRegistry& registry,
      const std::string& state,
      std::vector<Real>& values,
      MoeLayer layer,
      Parameter parameter,
      int local_slot
  );

  Shape shape_;
  EpRank ep_rank_;
  EdpShard shard_;
  std::vector<Weight> weights_;
  std::vector<Weight> transposed_;  // fc2 of [layer][local slot], as [ffn, hidden]
  Optimizer optimizer_;
};

}  // namespace routepack::training
