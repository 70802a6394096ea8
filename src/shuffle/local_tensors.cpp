#include "shuffle/local_tensors.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace routepack {

LocalTensors::LocalTensors(const ExpertRegistry& registry, const StateLayout& layout)
    : layout_(layout), tensor_of_number_(layout.first_range.size() - 1, nullptr) {
  const std::vector<std::string>& kinds = layout.kinds.values();
  for (const SlotTensor& tensor : registry.tensors()) {
    const auto at = std::lower_bound(kinds.begin(), kinds.end(), tensor.kind);
    const KindId kind{static_cast<std::size_t>(at - kinds.begin())};
    tensor_of_number_[layout.tensor(tensor.layer, kind, tensor.slot)] = &tensor;
  }
}

std::byte* LocalTensors::address(MoeLayer layer, KindId kind, SlotId slot, std::int64_t begin)
    const {
  const SlotTensor* tensor = tensor_of_number_[layout_.tensor(layer, kind, slot)];
  RP_ASSERT(light, tensor != nullptr, "slot {} is not here", slot.value());
  const auto after = std::partition_point(
      tensor->ranges.begin(), tensor->ranges.end(),
      [begin](const TensorRange& range) { return range.begin <= begin; }
  );
  RP_ASSERT(light, after != tensor->ranges.begin(), "byte {} is not here", begin);
  const TensorRange& range = *(after - 1);
  RP_ASSERT(light, begin < range.begin + range.bytes, "byte {} is not here", begin);
  return range.address + (begin - range.begin);
}

}  // namespace routepack
