// Vector instructions in use. Levels change the speed, never a result.
#pragma once

namespace routepack {

enum class SimdLevel { kPortable, kAvx2, kAvx512 };

}  // namespace routepack
