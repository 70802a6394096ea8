#include "objective/peak_kernels.hpp"

#include "objective/peak_kernels_impl.hpp"

namespace routepack {

SimdLevel best_simd_level() {
#if defined(ROUTEPACK_X86_KERNELS)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) {
    return SimdLevel::kAvx512;
  }
  if (__builtin_cpu_supports("avx2")) {
    return SimdLevel::kAvx2;
  }
#endif
  return SimdLevel::kPortable;
}

const PeakKernels& peak_kernels(SimdLevel level) {
#if defined(ROUTEPACK_X86_KERNELS)
  switch (level) {
    case SimdLevel::kAvx512:
      return kAvx512PeakKernels;
    case SimdLevel::kAvx2:
      return kAvx2PeakKernels;
    case SimdLevel::kPortable:
      return kPortablePeakKernels;
  }
#else
  static_cast<void>(level);
#endif
  return kPortablePeakKernels;
}

}  // namespace routepack
