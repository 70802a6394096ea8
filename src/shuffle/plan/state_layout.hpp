// Who owns which bytes of which expert tensor: the registries of all ranks put together, without
// addresses. Pure: how the parts travel is not known here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "routepack/weights.hpp"

namespace routepack::shuffle {

// Bytes [begin, end) of a logical tensor, held by `rank`.
struct OwnedRange {
  std::int32_t rank = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const OwnedRange&) const = default;
};

// Position in StateLayout::kinds, which ascend by name on every rank alike.
using KindId = Index<struct KindTag>;

// Tensors are numbered (layer, kind, slot), last index fastest.
struct StateLayout {
  int num_layers = 0;
  int num_experts = 0;
  std::vector<EdpShard> shard_of_rank;
  IndexVector<KindId, std::string> kinds;
  std::vector<std::int64_t> tensor_bytes;  // [layers, kinds]; 0 where a layer has no such kind
  std::vector<std::size_t> first_range;    // [layers * kinds * experts + 1] into `ranges`
  std::vector<OwnedRange> ranges;          // of a tensor: by rank, then begin

  [[nodiscard]] int num_ranks() const { return static_cast<int>(shard_of_rank.size()); }
  [[nodiscard]] std::size_t layer_kind(MoeLayer layer, KindId kind) const {
    return layer.offset() * kinds.size() + kind.offset();
  }
  [[nodiscard]] std::size_t tensor(MoeLayer layer, KindId kind, SlotId slot) const {
    return layer_kind(layer, kind) * static_cast<std::size_t>(num_experts) + slot.offset();
  }
  [[nodiscard]] std::int64_t bytes_of(MoeLayer layer, KindId kind) const {
    return tensor_bytes[layer_kind(layer, kind)];
  }
  [[nodiscard]] std::span<const OwnedRange> owners(MoeLayer layer, KindId kind, SlotId slot) const {
    const std::size_t at = tensor(layer, kind, slot);
    return std::span{ranges}.subspan(first_range[at], first_range[at + 1] - first_range[at]);
  }
};

// A rank's registry without addresses, as it travels to the other ranks.
[[nodiscard]] std::vector<std::byte> encode_registry(const ExpertRegistry& registry);

// Puts together what all ranks registered (encoded, by rank). Throws STATE_INCOMPLETE naming
// layer, kind and slot where a tensor is registered twice, differs in size between the experts of
// its layer, is missing for an expert in whole or in part, is shared or derived and registered as
// an expert's own as well, or is required and nowhere registered.
[[nodiscard]] StateLayout make_state_layout(
    const std::vector<std::span<const std::byte>>& registries, int num_layers, int num_experts
);

// Local checks that need addresses: null or overlapping ranges (one tensor standing for several
// slots, stride 0). Throws STATE_INCOMPLETE.
void validate_addresses(const ExpertRegistry& registry);

}  // namespace routepack::shuffle
