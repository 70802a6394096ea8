// Which vector instructions this CPU has.
#pragma once

#include "routepack/simd.hpp"

namespace routepack {

// The widest level that this CPU runs.
[[nodiscard]] SimdLevel best_simd_level();

}  // namespace routepack
