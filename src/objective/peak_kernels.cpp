#include "objective/peak_kernels.hpp"

#include "objective/peak_kernels_impl.hpp"

namespace routepack {

const PeakKernels& peak_kernels(SimdLevel level) {
#if defined(__x86_64__)
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
