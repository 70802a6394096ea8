// Gather into contiguous memory with a fused XXH3-64 checksum. Levels change the speed, never a
// byte or a checksum; the caller passes one that this CPU runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "routepack/simd.hpp"
#include "shuffle/engine/copy_engine.hpp"

namespace routepack::shuffle {

// Segments ascend by target within `target`; what they leave out becomes 0. Returns the checksum
// of what `target` then holds.
[[nodiscard]] std::uint64_t gather_segments(
    std::span<std::byte> target, std::span<const CopySegment> segments, SimdLevel level
);

[[nodiscard]] std::uint64_t payload_checksum(std::span<const std::byte> payload, SimdLevel level);

}  // namespace routepack::shuffle
