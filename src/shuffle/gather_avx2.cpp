// Compiled for AVX2; called only where the processor has it.
#include "shuffle/gather_kernel.hpp"

namespace routepack::detail {

GatherKernel gather_kernel_avx2() { return GatherKernel{&gather_here, &checksum_here}; }

}  // namespace routepack::detail
