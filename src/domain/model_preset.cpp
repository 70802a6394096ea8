#include "domain/model_preset.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "base/check.hpp"
#include "domain/embedded_presets.hpp"

namespace routepack {
std::string_view name_of(AttentionKind kind) {
  switch (kind) {
    case AttentionKind::kFull:
      return "full";
    case AttentionKind::kSliding:
      return "sliding";
    case AttentionKind::kMla:
      return "mla";
    case AttentionKind::kKda:
      return "kda";
    case AttentionKind::kGatedDeltaNet:
      return "gated_delta_net";
    case AttentionKind::kLightning:
      return "lightning";
  }
  return "";
}

std::vector<int> ModelPreset::moe_layers() const {
  std::vector<int> indices(static_cast<std::size_t>(layers - dense_layers));
  std::iota(indices.begin(), indices.end(), dense_layers);
  return indices;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const ModelPreset& preset : embedded_presets()) {
    names.push_back(preset.name);
  }
  return names;
}

ModelPreset find_preset(std::string_view name) {
  const std::span<const ModelPreset> presets = embedded_presets();
  const auto found = std::ranges::find(presets, name, &ModelPreset::name);
  RP_CHECK(
      found != presets.end(), ErrorCode::kUsage, "preset {} is unknown, there are: {}", name,
      fmt::join(preset_names(), ", ")
  );
  return *found;
}

}  // namespace routepack
