#include "training/trainer.hpp"

#include "comm/collectives.hpp"

namespace routepack::training {

template <class Precision>
Trainer<Precision>::Trainer(
    const Shape& shape,
    const Replay& replay,
    const Placement& placement,
    const comm::Communicator& comm
)
    : shape_(shape),
      replay_(replay),
      comm_(comm),
      ep_group_(comm.split(comm.mpi_rank() / shape.ep)),
      edp_group_(comm.split(comm.mpi_rank() % shape.ep)),
      transport_(make_mpi_transport(comm.get())),
      table_(make_placement_table(placement)),
      experts_(
          shape,
          EpRank{comm.mpi_rank() % shape.ep},
          EdpShard{comm.mpi_rank() / shape.ep},
          placement,
          replay
      ) {
  for (const MoeLayer layer : ids<MoeLayer>(shape.num_layers)) {
    for (const ExpertId expert : ids<ExpertId>(shape.num_experts)) {
      for (int at = 0; at < shape.hidden; ++at) {
        router_.weights.push_back(static_cast<Real>(replay.router_value(layer, expert, at)));
      }
    }
  }
  router_.exp_avg.assign(router_.weights.size(), Real{0});
  router_.exp_avg_sq.assign(router_.weights.size(), Real{0});
  router_.gradient.assign(router_.weights.size(), Real{0});
}

template <class Precision>
auto Trainer<Precision>::router_of(std::vector<Real>& values, MoeLayer layer) const
    -> std::span<Real> {
  const auto size = static_cast<std::size_t>(shape_.num_experts * shape_.hidden);
  return std::span{values}.subspan(layer.offset() * size, size);
}

// Sum of squared errors of the cell, and its gradient, both divided by all values of the window.
template <class Precision>
auto Trainer<Precision>::output_gradient(
    const std::vector<Token>& tokens, const std::vector<Real>& outputs, std::vector<Real>& gradient
) const -> Real {
  const Real scale = Real{1} / static_cast<Real>(replay_.num_tokens() * shape_.hidden);
  Real loss{0};
  gradient.clear();
  for (const Token& token : tokens) {
    for (const double wanted : replay_.target(token.sample, token.number)) {
      const Real error = outputs[gradient.size()] - static_cast<Real>(wanted);
      loss += error * error;
      gradient.push_back(Real{2} * error * scale);
    }
  }
  return loss * scale;
}

template <class Precision>
double Trainer<Precision>::run_cell(const std::vector<Token>& tokens) {
  std::vector<Real> values;
  for (const Token& token : tokens) {
    for (const double value : replay_.input(token.sample, token.number)) {
      values.push_back(static_cast<Real>(value));
    }
  }
  std::vector<MoeLayerPass<Precision>> passes;
  for (const MoeLayer layer : ids<MoeLayer>(shape_.num_layers)) {
    std::vector<std::vector<ExpertId>> routes;
    for (const Token& token : tokens) {
      routes.push_back(replay_.route(steps_done_, token.sample, token.number, layer));
    }
    passes.emplace_back(
        shape_, layer, std::move(routes), table_.placement.layers[layer], experts_,
        router_of(router_.weights, layer), ep_group_
    );
    values = passes.back().forward(std::move(values));
  }
  std::vector<Real> gradient;
  const Real loss = output_gradient(tokens, values, gradient);
  for (std::size_t layer = passes.size(); layer-- > 0;) {
    gradient = passes[layer].backward(
        gradient, expert_gradient_, router_of(router_.gradient, MoeLayer{layer})
    );
  }
  return static_cast<double>(loss);
}

template <class Precision>
double Trainer<Precision>::compute_gradients(const CellLayout& layout) {
  expert_gradient_.assign(static_cast<std::size_t>(shape_.flat_size()), Real{0});
  router_.gradient.assign(router_.weights.size(), Real{0});
  const IndexVector<CellId, std::vector<SampleId>> cells = samples_by_cell(layout);
  double loss = 0.0;
  for (const RowId row : ids<RowId>(layout.num_rows)) {
    std::vector<Token> tokens;
    for (const SampleId sample : cells[layout.cell(row, DpSlot{comm_.mpi_rank()})]) {
      for (int number = 0; number < replay_.length_of(sample); ++number) {
        tokens.push_back(Token{sample, number});
      }
    }
    loss += run_cell(tokens);
  }
  std::vector<std::size_t> parts;
  for (int shard = 0; shard < shape_.edp; ++shard) {
    parts.push_back(
        static_cast<std::size_t>(shape_.shard_begin(shard + 1) - shape_.shard_begin(shard))
    );
  }
  experts_.optimizer().gradient = reduce_scatter(expert_gradient_, parts, edp_group_);
  std::vector<Real> sum(router_.gradient.size(), Real{0});
  const std::vector<Real> all = comm::all_gather(router_.gradient, comm_);
  for (std::size_t at = 0; at < all.size(); ++at) {  // in rank order
    sum[at % sum.size()] += all[at];
  }
  router_.gradient = std::move(sum);
  double total = 0.0;
  for (const double part : comm::all_gather_value(loss, comm_)) {
    total += part;
  }
  return total;
}

template <class Precision>
void Trainer<Precision>::update() {
  ++steps_done_;
  const Adam adam;
  adam.apply<Real>(
      router_.weights, router_.exp_avg, router_.exp_avg_sq, router_.gradient, steps_done_
  );
  typename ExpertState<Precision>::Optimizer& state = experts_.optimizer();
  adam.apply<Real>(state.master, state.exp_avg, state.exp_avg_sq, state.gradient, steps_done_);
  std::vector<typename Precision::Weight> updated;
  for (const Real value : state.master) {
    updated.push_back(static_cast<typename Precision::Weight>(value));
  }
  const auto gathered = comm::all_gather(updated, edp_group_);
  std::copy(gathered.begin(), gathered.end(), experts_.weights().begin());
  for (const MoeLayer layer : ids<MoeLayer>(shape_.num_layers)) {
    experts_.rebuild_transposed(layer);
  }
}

template <class Precision>
double Trainer<Precision>::step(const CellLayout& layout) {
  const double loss = compute_gradients(layout);
  update();
  return loss;
}

template <class Precision>
ShuffleReport Trainer<Precision>::move_experts(
    const Placement& target, const ShuffleOptions& options, const RegistryFault& fault
) {
  return apply_placement(table_, target, experts_.make_registry(fault), *transport_, options);
}

template <class Precision>
LogicalState Trainer<Precision>::gather_state() const {
  LogicalState state = experts_.gather(table_.placement, comm_);
  const auto add = [&](const char* kind, const std::vector<Real>& values) {
    state[kind] = std::vector<double>(values.begin(), values.end());
  };
  add("router.weight", router_.weights);
  add("router.exp_avg", router_.exp_avg);
  add("router.exp_avg_sq", router_.exp_avg_sq);
  add("router.gradient", router_.gradient);
  return state;
}

template <class Precision>
void Trainer<Precision>::add_to_weight(
    MoeLayer layer, ExpertId expert, Parameter parameter, int at, double delta
) {
  const SlotId slot = table_.placement.layers[layer][expert];
  if (table_.placement.ep_rank_of(slot) != EpRank{ep_group_.mpi_rank()}) {
    return;
  }
  const int local_slot = slot.value() % shape_.slots_per_ep_rank();
  auto& weight = experts_.weights(
  )[static_cast<std::size_t>(shape_.flat_offset(layer, parameter, local_slot) + at)];
  weight =
      static_cast<typename Precision::Weight>(static_cast<Real>(weight) + static_cast<Real>(delta));
  experts_.rebuild_transposed(layer);
}

template <class Precision>
void Trainer<Precision>::add_to_router(MoeLayer layer, ExpertId expert, int at, double delta) {
  router_of(
      router_.weights, layer
  )[expert.offset() * static_cast<std::size_t>(shape_.hidden) + static_cast<std::size_t>(at)] +=
      static_cast<Real>(delta);
}

template class Trainer<MixedPrecision>;
template class Trainer<SinglePrecision>;
template class Trainer<DoublePrecision>;

}  // namespace routepack::training
