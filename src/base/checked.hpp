// Integer arithmetic that reports overflow instead of wrapping: costs stay exact int64.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/check.hpp"

namespace routepack {

[[nodiscard]] inline std::int64_t checked_add(std::int64_t a, std::int64_t b, const char* what) {
  std::int64_t sum = 0;
  RP_CHECK(
      !__builtin_add_overflow(a, b, &sum), ErrorCode::kNumberOutOfRange,
      "{}: {} + {} does not fit 64 bits", what, a, b
  );
  return sum;
}

[[nodiscard]] inline std::int64_t checked_multiply(
    std::int64_t a, std::int64_t b, const char* what
) {
  std::int64_t product = 0;
  RP_CHECK(
      !__builtin_mul_overflow(a, b, &product), ErrorCode::kNumberOutOfRange,
      "{}: {} * {} does not fit 64 bits", what, a, b
  );
  return product;
}

// ceil(a / b) for a >= 0, b > 0.
template <class T>
[[nodiscard]] constexpr T ceil_divide(T a, T b) {
  static_assert(std::is_integral_v<T>);
  return a / b + (a % b != 0 ? T{1} : T{0});
}

// a rounded up to a multiple of b, for a >= 0, b > 0.
template <class T>
[[nodiscard]] constexpr T round_up(T a, T b) {
  return ceil_divide(a, b) * b;
}

}  // namespace routepack
