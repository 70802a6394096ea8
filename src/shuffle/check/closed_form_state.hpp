// Expert state whose every byte is a function of (seed, layer, expert, kind, offset), so that a
// rank can check itself after a move without asking anybody. Two gated-MLP weights replicated
// over EDP, and their optimizer state in flat buffers that are cut over EDP at any byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "routepack/weights.hpp"
#include "shuffle/engine/copy_engine.hpp"

namespace routepack::shuffle {

struct StateShape {
  int num_layers = 1;
  int num_experts = 1;
  int hidden = 1;
  int ffn = 1;
  int ep = 1;
  int edp = 1;
  std::uint64_t seed = 1;

  [[nodiscard]] int slots_per_ep_rank() const { return num_experts / ep; }
};

// bf16 weight, fp32 master, exp_avg and exp_avg_sq: 14 bytes a parameter.
[[nodiscard]] std::int64_t bytes_per_expert(const StateShape& shape);

struct LayerContents {
  IndexVector<MoeLayer, bool> is_old;
  IndexVector<MoeLayer, bool> is_new;
};

class ClosedFormState {
 public:
  // What rank `rank` of ep * edp holds: EP rank = rank % ep, EDP shard = rank / ep. The experts
  // lie as `placement` says. With an engine of device memory everything lies there; it must
  // outlive the state.
  ClosedFormState(
      const StateShape& shape, int rank, const Placement& placement, CopyEngine* engine = nullptr
  );

  [[nodiscard]] const ExpertRegistry& registry() const { return registry_; }
  [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(arena_.size()); }
  void fill(const Placement& placement);
  // The first byte that is not what `placement` demands, as a sentence; empty when all are. Bytes
  // between the tensors count too: nobody may write there.
  [[nodiscard]] std::string find_fault(const Placement& placement) const;
  // The same layer by layer, against two placements: a layer that no move touches on this rank is
  // both. A byte written outside the tensors makes every layer neither.
  [[nodiscard]] LayerContents compare_layers(const Placement& before, const Placement& after) const;

 private:
  struct Place;
  void reserve_weights(EpRank ep_rank);
  void reserve_optimizer(EpRank ep_rank, int shard);
  [[nodiscard]] std::int64_t reserve(std::int64_t bytes);
  void read_back() const;
  [[nodiscard]] std::string find_tensor_fault(const Place& place, ExpertId expert) const;
  [[nodiscard]] std::string find_stray_write() const;

  StateShape shape_;
  mutable std::vector<std::byte> arena_;  // with a device: the host's copy
  CopyEngine* device_ = nullptr;
  std::shared_ptr<std::byte> device_arena_;
  struct Place {
    SlotTensor tensor;                  // addresses still null
    std::vector<std::int64_t> offsets;  // into the arena, one a range
  };
  std::vector<Place> places_;
  std::int64_t reserved_ = 0;
  ExpertRegistry registry_;
};

// A placement in which that share of the experts of each layer has another slot: the chosen ones
// move on in one cycle. A function of the arguments.
[[nodiscard]] Placement make_moved_placement(
    const Placement& current, double moved_fraction, std::uint64_t seed
);

}  // namespace routepack::shuffle
