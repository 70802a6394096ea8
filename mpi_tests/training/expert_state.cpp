#include "training/expert_state.hpp"

#include <algorithm>
#include <cmath>

namespace routepack::training {
namespace {

// Expert of every slot of a layer.
IndexVector<SlotId, ExpertId> experts_of(const LayerPlacement& slots) {
  IndexVector<SlotId, ExpertId> experts{slots.size()};
  for (const ExpertId expert : ids<ExpertId>(slots.size())) {
    experts[slots[expert]] = expert;
  }
  return experts;
}

}  // namespace

template <class Precision>
ExpertState<Precision>::ExpertState(
    const Shape& shape,
    EpRank ep_rank,
    EdpShard shard,
    const Placement& placement,
    const Replay& replay
)
    : shape_(shape), ep_rank_(ep_rank), shard_(shard) {
  std::vector<Real> initial;
  for_each_tensor([&](MoeLayer layer, Parameter parameter, int local_slot) {
    const ExpertId expert = experts_of(placement.layers[layer])[slot_of(local_slot)];
    const double scale = std::sqrt(3.0 / (parameter == Parameter::kFc1 ? shape.hidden : shape.ffn));
    for (int at = 0; at < shape.elements(parameter); ++at) {
      initial.push_back(static_cast<Real>(scale * replay.expert_value(layer, expert, parameter, at))
      );
    }
  });
  for (const Real value : initial) {
    weights_.push_back(static_cast<Weight>(value));
  }
  const int begin = shape.shard_begin(shard.value());
  const int end = shape.shard_begin(shard.value() + 1);
  optimizer_.master.assign(initial.begin() + begin, initial.begin() + end);
  const auto size = static_cast<std::size_t>(end - begin);
  optimizer_.exp_avg.assign(size, Real{0});
  optimizer_.exp_avg_sq.assign(size, Real{0});
  optimizer_.gradient.assign(size, Real{0});
  transposed_.resize(static_cast<std::size_t>(
      shape.num_layers * shape.slots_per_ep_rank() * shape.elements(Parameter::kFc2)
  ));
  for (const MoeLayer layer : ids<MoeLayer>(shape.num_layers)) {
    rebuild_transposed(layer);
  }
}

template <class Precision>
void ExpertState<Precision>::for_each_tensor(
    const std::function<void(MoeLayer, Parameter, int)>& visit
) const {
  for (const MoeLayer layer : ids<MoeLayer>(shape_.num_layers)) {
    for (const Parameter parameter : kParameters) {
      for (int local_slot = 0; local_slot < shape_.slots_per_ep_rank(); ++local_slot) {
        visit(layer, parameter, local_slot);
      }
    }
  }
}

template <class Precision>
auto ExpertState<Precision>::expert(MoeLayer layer, int local_slot) const -> ExpertWeights<Weight> {
  const auto part = [&](Parameter parameter) {
    return std::span<const Weight>{weights_}.subspan(
        static_cast<std::size_t>(shape_.flat_offset(layer, parameter, local_slot)),
        static_cast<std::size_t>(shape_.elements(parameter))
    );
  };
  const auto size = static_cast<std::size_t>(shape_.elements(Parameter::kFc2));
  const auto number =
      static_cast<std::size_t>(layer.value() * shape_.slots_per_ep_rank() + local_slot);
  return ExpertWeights<Weight>{
      part(Parameter::kFc1), part(Parameter::kFc2),
      std::span<const Weight>{transposed_}.subspan(number * size, size)};
}

template <class Precision>
void ExpertState<Precision>::rebuild_transposed(MoeLayer layer) {
  const auto hidden = static_cast<std::size_t>(shape_.hidden);
  const auto ffn = static_cast<std::size_t>(shape_.ffn);
  for (int local_slot = 0; local_slot < shape_.slots_per_ep_rank(); ++local_slot) {
    const ExpertWeights<Weight> weights = expert(layer, local_slot);
    const auto begin = static_cast<std::size_t>(weights.fc2_transposed.data() - transposed_.data());
    for (std::size_t row = 0; row < hidden; ++row) {
      for (std::size_t column = 0; column < ffn; ++column) {
        transposed_[begin + column * hidden + row] = weights.fc2[row * ffn + column];
      }
    }
  }
}

template <class Precision>
void ExpertState<Precision>::add_weight(
    ExpertRegistry& registry, MoeLayer layer, Parameter parameter, int local_slot
) {
  Weight* const first = weights_.data() + shape_.flat_offset(layer, parameter, local_slot);
  registry.add_whole(
      layer, slot_of(local_slot), std::string(name_of(parameter)) + ".weight",
      reinterpret_cast<std::byte*>(first),
      static_cast<std::int64_t>(sizeof(Weight)) * shape_.elements(parameter)
  );
}

// The part of the tensor that lies in this rank's part of the flat buffer; may be none.
template <class Precision>
void ExpertState<Precision>::add_optimizer(
    ExpertRegistry& registry,
    const std::string& state,
    std::vector<Real>& values,
    MoeLayer layer,
    Parameter parameter,
    int local_slot
) {
  const int tensor_begin = shape_.flat_offset(layer, parameter, local_slot);
  const int shard_begin = shape_.shard_begin(shard_.value());
  const int begin = std::max(tensor_begin, shard_begin);
  const int end =
      std::min(tensor_begin + shape_.elements(parameter), shape_.shard_begin(shard_.value() + 1));
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(Real));
  SlotTensor tensor{
      layer,
      slot_of(local_slot),
      std::string(name_of(parameter)) + "." + state,
      kBytes * shape_.elements(parameter),
      Memory::kHost,
      {}};
  if (begin < end) {
    tensor.ranges.push_back(TensorRange{
        kBytes * (begin - tensor_begin), kBytes * (end - begin),
        reinterpret_cast<std::byte*>(values.data() + (begin - shard_begin))});
  }
  registry.add(std::move(tensor));
}

template <class Precision>
ExpertRegistry ExpertState<Precision>::make_registry(const RegistryFault& fault) {
  using What = RegistryFault::What;
  ExpertRegistry registry{shard_};
  const auto is_left_out = [&](Parameter parameter, const std::string& state, int local_slot) {
    return fault.kind == std::string(name_of(parameter)) + "." + state &&
           (fault.what == What::kNotRegistered || fault.what == What::kUnknown ||
            (fault.what == What::kOneSlotMissing && local_slot == 0 && ep_rank_ == EpRank{0}));
  };
  for_each_tensor([&](MoeLayer layer, Parameter parameter, int local_slot) {
    if (!is_left_out(parameter, "weight", local_slot)) {
      add_weight(registry, layer, parameter, local_slot);
    }
    const auto add = [&](const char* state, std::vector<Real>& values) {
      if (!is_left_out(parameter, state, local_slot)) {
        add_optimizer(registry, state, values, layer, parameter, local_slot);
      }
    };
    add("master", optimizer_.master);
    add("exp_avg", optimizer_.exp_avg);
    add("exp_avg_sq", optimizer_.exp_avg_sq);
  });
  for (const MoeLayer layer : ids<MoeLayer>(shape_.num_layers)) {
    for (const Parameter parameter : kParameters) {
      for (const char* state : {"weight", "master", "exp_avg", "exp_avg_sq"}) {
        const std::string kind = std::string(name_of(parameter)) + "." + state;
        if (fault.what != What::kUnknown || fault.kind != kind) {
          registry.require(layer, kind);
        }
      }
    }
    registry.add_shared(layer, "router.weight");
    if (fault.what != What::kNotRebuilt) {
      registry.add_derived({layer, "fc2.transposed", [this, layer] { rebuild_transposed(layer); }});
    }
  }
  return registry;
}

template <class Precision>
LogicalState ExpertState<Precision>::gather(
    const Placement& placement, const comm::Communicator& comm
) const {
  std::map<std::string, std::vector<LogicalValue>> mine;
  for (const Parameter parameter : kParameters) {  // every rank names every kind
    for (int shard = 0; shard < shape_.edp; ++shard) {
      mine[std::string(name_of(parameter)) + ".weight@" + std::to_string(shard)];
    }
    for (const char* state : {".master", ".exp_avg", ".exp_avg_sq", ".gradient"}) {
      mine[std::string(name_of(parameter)) + state];
    }
  }
  const int shard_begin = shape_.shard_begin(shard_.value());
  const int shard_end = shape_.shard_begin(shard_.value() + 1);
  for_each_tensor([&](MoeLayer layer, Parameter parameter, int local_slot) {
    const ExpertId expert = experts_of(placement.layers[layer])[slot_of(local_slot)];
    const int flat_begin = shape_.flat_offset(layer, parameter, local_slot);
    const std::string name = name_of(parameter);
    for (int at = 0; at < shape_.elements(parameter); ++at) {
      const std::int64_t position =
          static_cast<std::int64_t>(layer.value() * shape_.num_experts + expert.value()) *
              shape_.elements(parameter) +
          at;
      const int flat = flat_begin + at;
      const auto add = [&](const std::string& kind, double value) {
        mine[name + kind].push_back(LogicalValue{position, value});
      };
      add(".weight@" + std::to_string(shard_.value()),
          static_cast<double>(weights_[static_cast<std::size_t>(flat)]));
      if (flat >= shard_begin && flat < shard_end) {
        const auto local = static_cast<std::size_t>(flat - shard_begin);
        add(".master", static_cast<double>(optimizer_.master[local]));
        add(".exp_avg", static_cast<double>(optimizer_.exp_avg[local]));
        add(".exp_avg_sq", static_cast<double>(optimizer_.exp_avg_sq[local]));
        add(".gradient", static_cast<double>(optimizer_.gradient[local]));
      }
    }
  });
  LogicalState state;
  for (const auto& [kind, values] : mine) {
    const Parameter parameter = kind.starts_with("fc1") ? Parameter::kFc1 : Parameter::kFc2;
    const int size = shape_.num_layers * shape_.num_experts * shape_.elements(parameter);
    state[kind] = gather_kind(values, static_cast<std::size_t>(size), comm);
  }
  return state;
}

template class ExpertState<MixedPrecision>;
template class ExpertState<SinglePrecision>;
template class ExpertState<DoublePrecision>;

}  // namespace routepack::training
