// The texts of configs/*.cfg, embedded in the library when it is configured.
#pragma once

#include <span>
#include <string_view>

namespace routepack {

struct EmbeddedPreset {
  std::string_view name;  // of the file, without ".cfg"
  std::string_view text;
};

// By name, ascending.
[[nodiscard]] std::span<const EmbeddedPreset> embedded_presets();

}  // namespace routepack
