#include "io/placement_reader.hpp"

#include "base/check.hpp"
#include "io/json_fields.hpp"

namespace routepack {

Placement read_placement(const std::string& path, int ep) {
  constexpr std::int64_t kMaxSlot = (1 << 16) - 1;
  constexpr std::int64_t kMaxEp = 1 << 20;
  const JsonFields fields = JsonFields::read(path);
  if (fields.has("topology")) {
    const std::int64_t plan_ep = fields.object("topology").integer("ep", 1, kMaxEp);
    RP_CHECK(
        plan_ep == ep, ErrorCode::kUsage, "{} is a plan for ep = {}, here ep is {}", path, plan_ep,
        ep
    );
  }
  Placement placement;
  placement.ep = ep;
  for (const std::vector<std::int64_t>& slots : fields.integer_lists("placement", 0, kMaxSlot)) {
    LayerPlacement layer;
    for (const std::int64_t slot : slots) {
      layer.push_back(SlotId{static_cast<SlotId::Value>(slot)});
    }
    placement.layers.push_back(std::move(layer));
  }
  const auto num_layers = static_cast<int>(placement.layers.size());
  placement.num_experts =
      num_layers > 0 ? static_cast<int>(placement.layers[MoeLayer{0}].size()) : 0;
  RP_CHECK(
      placement.num_experts % ep == 0, ErrorCode::kExpertsNotDivisible,
      "{}: {} experts do not divide over ep = {} ranks", path, placement.num_experts, ep
  );
  try {
    validate_placement(placement, num_layers, placement.num_experts);
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", path, error.what());
  }
  return placement;
}

}  // namespace routepack
