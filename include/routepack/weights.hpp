// Moving experts: a registry of every tensor that has an expert axis, and the transaction that
// carries weights and optimizer state to the slots of a new placement. All or nothing: a fault
// before the commit leaves every byte of every rank as it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "routepack/error.hpp"
#include "routepack/ids.hpp"
#include "routepack/placement.hpp"

namespace routepack {

class Transport;  // how bytes travel: routepack/transports.hpp makes one

enum class Memory { kHost, kDevice };

// Consecutive bytes [begin, begin + bytes) of a logical tensor that lie on this rank at `address`.
struct TensorRange {
  std::int64_t begin = 0;
  std::int64_t bytes = 0;
  std::byte* address = nullptr;
};

// What this rank holds of one tensor of the expert in `slot`. Replicated tensors are registered
// whole by every rank that has a copy; sharded ones by each owner with its own ranges, which may
// be cut at any byte. A pitched tensor is a list of ranges, one a line.
struct SlotTensor {
  MoeLayer layer;
  SlotId slot;
  std::string kind;               // e.g. "fc1.weight", "fc1.exp_avg"
  std::int64_t tensor_bytes = 0;  // of the whole logical tensor, the same for all experts
  Memory memory = Memory::kHost;
  std::vector<TensorRange> ranges;  // ascending, disjoint; may be empty
};

// A tensor that follows from moved ones (a transposed copy, a product of scales). It is not moved:
// `rebuild` runs on this rank once the layer's tensors are in place. It must not throw and must
// not communicate.
struct DerivedTensor {
  MoeLayer layer;
  std::string kind;
  std::function<void()> rebuild;
};

// A layer and a kind of tensor: declared as shared, or as required to be registered.
struct LayerKind {
  MoeLayer layer;
  std::string kind;
};

// Everything with an expert axis that lives on this rank. Holds addresses, owns no memory; the
// tensors must outlive it and keep their addresses. A rank without MoE layers passes an empty one.
class ExpertRegistry {
 public:
  // Ranks of one EDP shard prefer each other as sources of replicated tensors.
  explicit ExpertRegistry(EdpShard shard = EdpShard{}) : shard_(shard) {}

  void add(SlotTensor tensor) { tensors_.push_back(std::move(tensor)); }
  // A tensor that this rank holds whole, `bytes` contiguous at `address`.
  void add_whole(
      MoeLayer layer,
      SlotId slot,
      std::string kind,
      std::byte* address,
      std::int64_t bytes,
      Memory memory = Memory::kHost
  ) {
    add(SlotTensor{layer, slot, std::move(kind), bytes, memory, {TensorRange{0, bytes, address}}});
  }
  void add_derived(DerivedTensor tensor) { derived_.push_back(std::move(tensor)); }
  // One tensor for all experts of the layer: it cannot follow a single expert, so registering the
  // same kind for a slot, or as derived, is refused.
  void add_shared(MoeLayer layer, std::string kind) {
    shared_.push_back(LayerKind{layer, std::move(kind)});
  }
  // The framework has an expert-axis tensor of this kind: a registry without it is incomplete.
  void require(MoeLayer layer, std::string kind) {
    required_.push_back(LayerKind{layer, std::move(kind)});
  }

  [[nodiscard]] EdpShard shard() const { return shard_; }
  [[nodiscard]] const std::vector<SlotTensor>& tensors() const { return tensors_; }
  [[nodiscard]] const std::vector<DerivedTensor>& derived() const { return derived_; }
  [[nodiscard]] const std::vector<LayerKind>& shared() const { return shared_; }
  [[nodiscard]] const std::vector<LayerKind>& required() const { return required_; }

 private:
  EdpShard shard_;
  std::vector<SlotTensor> tensors_;
  std::vector<DerivedTensor> derived_;
  std::vector<LayerKind> shared_;
  std::vector<LayerKind> required_;
};

enum class ShuffleMode {
  kFullShadow,  // all layers in one transaction; memory of all incoming bytes
  kPerLayer,    // a transaction a layer; memory of the largest layer's incoming bytes
};

struct ShuffleOptions {
  ShuffleMode mode = ShuffleMode::kFullShadow;
  std::int64_t round_bytes = std::int64_t{16} << 20U;  // B, payload a peer and round; 16 to 2^40
  double deadline_seconds = 60.0;  // of a round of data; more than 0, infinity: wait for ever
  // Of an agreement, which also waits for ranks that come late to the call; 0: twice the above.
  double agreement_seconds = 0.0;
  // Called with the reason just before the job is ended because an agreement stayed out (a rank
  // or link is gone for good). Must not communicate; what it throws is dropped.
  std::function<void(const std::string&)> on_lost_contact;
};

// The placement in force. `layer_epoch` is the epoch that brought each layer to its placement.
struct PlacementTable {
  Placement placement;
  std::int64_t epoch = 0;  // one more for each shuffle that changed the table
  IndexVector<MoeLayer, std::int64_t> layer_epoch;
};
[[nodiscard]] PlacementTable make_placement_table(Placement placement);

struct ShuffleReport {
  std::int64_t moved_experts = 0;       // (layer, expert) pairs of the plan whose slot changes
  std::int64_t planned_bytes = 0;       // of all ranks and layers, between ranks
  std::int64_t planned_here_bytes = 0;  // of all ranks and layers, between slots of one rank
  std::int64_t sent_bytes = 0;          // by this rank, payload and padding
  std::int64_t received_bytes = 0;
  std::int64_t rounds = 0;
  double seconds = 0.0;                    // of this rank, from call to return
  std::int64_t staging_bytes = 0;          // high water of this rank's send buffers
  std::int64_t shadow_bytes = 0;           // high water of this rank's incoming bytes
  std::int64_t high_water_bytes = 0;       // of both together
  std::int64_t memory_bound_bytes = 0;     // what they may not exceed
  std::vector<MoeLayer> committed_layers;  // layers with moves that are at the new placement
  Placement placement;                     // in force now
  std::int64_t epoch = 0;                  // in force now
};

// TRANSFER_FAILED of a shuffle. In per-layer mode the report says which layers are at the new
// placement; all others, and in full-shadow mode all, are as before, on every rank.
class ShuffleError : public Error {
 public:
  ShuffleError(const std::string& text, ShuffleReport report)
      : Error(ErrorCode::kTransferFailed, text), report_(std::move(report)) {}
  [[nodiscard]] const ShuffleReport& report() const { return report_; }

 private:
  ShuffleReport report_;
};

// Collective over the transport's ranks. Moves the bytes of every registered tensor from the slots
// of `table.placement` to those of `target`; addresses stay. The table changes last, and only for
// layers that are committed on all ranks. Throws, on every rank alike:
//   USAGE, FILE_MALFORMED, EXPERTS_NOT_DIVISIBLE, TOPOLOGY_MISMATCH
//                      options or placements that cannot be, on any rank; nothing has moved
//   STATE_INCOMPLETE   a tensor is missing, aliased or of another size (names layer, kind, slot)
//   PLAN_DISAGREEMENT  ranks hold different placements, options or layouts; nothing has moved
//   TRANSFER_FAILED    (ShuffleError) names rank, layer and tensor
// If even the agreement fails to come within its deadline, the job is ended with status 4. A call
// while another is under way with the same transport is USAGE, on this rank alone.
ShuffleReport apply_placement(
    PlacementTable& table,
    const Placement& target,
    const ExpertRegistry& registry,
    Transport& transport,
    const ShuffleOptions& options
);

// The same for callers that keep the table themselves; the report says what is in force.
ShuffleReport apply_placement(
    const Placement& old_placement,
    const Placement& new_placement,
    const ExpertRegistry& registry,
    Transport& transport,
    const ShuffleOptions& options
);

// For a placement whose experts are only assigned to EP ranks: the same EP ranks with slots chosen
// so that experts that stay keep their slot, and arrivals take, where they can, the local slot
// that they come from (such moves never cross EDP shards). Throws what validate_placement does, and
// TOPOLOGY_MISMATCH unless both have the same ep.
[[nodiscard]] Placement choose_slots(const Placement& current, const Placement& target);

}  // namespace routepack
