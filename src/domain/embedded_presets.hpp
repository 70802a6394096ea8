// The models of configs/*.cfg, as values: CMake checks the files and writes embedded_presets.cpp.
#pragma once

#include <span>

#include "domain/model.hpp"

namespace routepack {

// By name, ascending.
[[nodiscard]] std::span<const ModelPreset> embedded_presets();

}  // namespace routepack
