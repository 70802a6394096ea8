// Parallel sizes of the trainer and the EDP shards that follow from them (docs/formats.md,
// "Topology").
#pragma once

#include "routepack/ids.hpp"

namespace routepack {

struct Topology {
  int dp = 1;   // data-parallel slots of the dense part
  int ep = 1;   // expert-parallel ranks
  int tp = 1;   // tensor-parallel size of the dense part
  int cp = 1;   // context-parallel size
  int pp = 1;   // pipeline stages; every stage plans the same rows
  int etp = 1;  // tensor-parallel size of the experts

  // DP slots that share one EP communicator: ep*etp / (tp*cp).
  [[nodiscard]] int dp_per_shard() const { return ep * etp / (tp * cp); }
  [[nodiscard]] int edp() const { return dp / dp_per_shard(); }
  [[nodiscard]] EdpShard shard_of(DpSlot slot) const {
    return EdpShard{slot.value() / dp_per_shard()};
  }
  bool operator==(const Topology&) const = default;
};

// Throws NUMBER_OUT_OF_RANGE for a size below 1 or too large to multiply, TOPOLOGY_MISMATCH where
// the sizes give no whole EDP shards, EXPERTS_NOT_DIVISIBLE where num_experts (0: dense) is no
// multiple of ep.
void validate_topology(const Topology& topology, int num_experts);

}  // namespace routepack
