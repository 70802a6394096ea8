#include "shuffle/gather.hpp"

#include "shuffle/gather_kernel.hpp"

namespace routepack::detail {

GatherKernel gather_kernel_portable() { return GatherKernel{&gather_here, &checksum_here}; }

GatherKernel gather_kernel() {
#if defined(ROUTEPACK_GATHER_AVX2)
  if (__builtin_cpu_supports("avx2") != 0) {
    return gather_kernel_avx2();
  }
#endif
  return gather_kernel_portable();
}

}  // namespace routepack::detail
