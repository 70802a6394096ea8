// Gather into contiguous memory with a fused XXH3-64 checksum, for the instruction set at hand.
// Plain pointers only: see gather_kernel.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace routepack {

struct CopySegment {
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
  std::int64_t bytes = 0;
};

namespace detail {

// Segments ascend by target within [target, target + bytes); what they leave out becomes 0.
// Returns the checksum of the `bytes` written.
using GatherFunction = std::uint64_t (*)(
    std::byte* target, std::size_t bytes, const CopySegment* segments, std::size_t num_segments
);
using ChecksumFunction = std::uint64_t (*)(const std::byte* source, std::size_t bytes);

struct GatherKernel {
  GatherFunction gather = nullptr;
  ChecksumFunction checksum = nullptr;
};

[[nodiscard]] GatherKernel gather_kernel_portable();
#if defined(ROUTEPACK_GATHER_AVX2)
[[nodiscard]] GatherKernel gather_kernel_avx2();
#endif
// The fastest that this machine runs; all give the same checksums.
[[nodiscard]] GatherKernel gather_kernel();

}  // namespace detail
}  // namespace routepack
