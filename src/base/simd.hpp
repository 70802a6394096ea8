// Which vector instructions this CPU has. Levels change the speed, never a result.
#pragma once

namespace routepack {

enum class SimdLevel { kPortable, kAvx2, kAvx512 };

// The widest level that this CPU runs.
[[nodiscard]] SimdLevel best_simd_level();

}  // namespace routepack
