// Compiled for AVX2; called only where the processor has it.
#include "shuffle/gather_kernel.hpp"

#if !defined(__AVX2__)
#error "gather_avx2.cpp must be compiled for AVX2"
#endif

namespace routepack::detail {

GatherKernel gather_kernel_avx2() { return GatherKernel{&gather_here, &checksum_here}; }

}  // namespace routepack::detail
