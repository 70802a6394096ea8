// Finds the address of a byte of an expert tensor on this rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "routepack/weights.hpp"
#include "shuffle/segments.hpp"

namespace routepack {

// Refers to the registry, which must outlive it.
class LocalTensors {
 public:
  LocalTensors(const ExpertRegistry& registry, const StateLayout& layout);

  // Where bytes [begin, …) of the tensor lie; the caller's move lies within one range.
  [[nodiscard]] std::byte* address(MoeLayer layer, KindId kind, SlotId slot, std::int64_t begin)
      const;
  [[nodiscard]] const std::byte* source_of(const ByteMove& move) const {
    return address(move.layer, move.kind, move.from_slot, move.begin);
  }
  [[nodiscard]] std::byte* target_of(const ByteMove& move) const {
    return address(move.layer, move.kind, move.to_slot, move.begin);
  }

 private:
  const StateLayout& layout_;
  std::vector<const SlotTensor*> tensor_of_number_;  // null where this rank holds nothing
};

}  // namespace routepack
