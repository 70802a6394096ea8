// exp, log and normal deviates from IEEE-754 operations that are exactly defined everywhere (+ - *
// /, sqrt, scaling by powers of two) in one fixed order. The C library's exp, log and sin differ by
// an ulp between versions and CPUs, which would change a synthetic window's counts.
#pragma once

#include <cstdint>

#include "random/stream.hpp"

namespace routepack {

// e^x, for |x| <= 700, to about 2 ulp.
[[nodiscard]] double portable_exp(double x);

// Natural logarithm, for normal x > 0, to about 2 ulp.
[[nodiscard]] double portable_log(double x);

// Standard normal deviate `index` of a stream's step (Marsaglia's polar method). Draws of the same
// step must not be used otherwise: a deviate uses blocks [64 * index, 64 * index + 64).
[[nodiscard]] double draw_normal(const Stream& stream, std::uint32_t step, std::uint64_t index);

}  // namespace routepack
