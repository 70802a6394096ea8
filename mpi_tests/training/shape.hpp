// Sizes of the trained model and of its parallel layout, and the order of an EP rank's expert
// parameters in its flat buffers.
#pragma once

#include <array>
#include <cstdint>

#include "routepack/ids.hpp"

namespace routepack::training {

// fc1 [2 ffn, hidden]: gate rows, then up rows. fc2 [hidden, ffn].
enum class Parameter { kFc1, kFc2 };
inline constexpr std::array kParameters = {Parameter::kFc1, Parameter::kFc2};
[[nodiscard]] constexpr const char* name_of(Parameter parameter) {
  return parameter == Parameter::kFc1 ? "fc1" : "fc2";
}

// MPI rank r is DP slot r, EP rank r % ep of EDP shard r / ep.
struct Shape {
  int ep = 1;
  int edp = 1;
  int top_k = 2;
  int num_layers = 2;
  int num_experts = 12;
  int hidden = 8;
  int ffn = 6;

  [[nodiscard]] int dp() const { return ep * edp; }
  [[nodiscard]] int slots_per_ep_rank() const { return num_experts / ep; }
  [[nodiscard]] int elements(Parameter parameter) const {
    return (parameter == Parameter::kFc1 ? 2 : 1) * hidden * ffn;
  }

  // Flat buffers: [layer][parameter][local slot][element].
  [[nodiscard]] int flat_offset(MoeLayer layer, Parameter parameter, int local_slot) const {
    const int fc1 = elements(Parameter::kFc1);
    const int fc2 = elements(Parameter::kFc2);
    const int layer_begin = layer.value() * slots_per_ep_rank() * (fc1 + fc2);
    return parameter == Parameter::kFc1
               ? layer_begin + local_slot * fc1
               : layer_begin + slots_per_ep_rank() * fc1 + local_slot * fc2;
  }
  [[nodiscard]] int flat_size() const {
    return flat_offset(MoeLayer{num_layers}, Parameter::kFc1, 0);
  }
  // Optimizer state of a flat buffer is cut over EDP shards; odd cuts, in the middle of tensors.
  [[nodiscard]] int shard_begin(int shard) const {
    return shard == 0 || shard == edp ? flat_size() * shard / edp : flat_size() * shard / edp | 1;
  }
};

}  // namespace routepack::training
