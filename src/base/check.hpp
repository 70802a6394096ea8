// fail(): bad input, with a code that users see. RP_CHECK: the same, as a condition.
// RP_ASSERT(level, condition, …): an invariant of ours; broken, the program stops.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "routepack/error.hpp"

namespace routepack::base {

template <class... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  throw Error(code, fmt::format(text, std::forward<Args>(args)...));
}

namespace detail {

enum AssertLevel { kAssertNone = 0, kAssertlight = 1, kAssertnormal = 2, kAssertheavy = 3 };

[[noreturn]] void assertion_failed(
    const char* condition, const char* file, int line, const std::string& text
);

}  // namespace detail
}  // namespace routepack::base

#define RP_CHECK(condition, code, ...)            \
  do {                                            \
    if (!(condition)) {                           \
      ::routepack::base::fail(code, __VA_ARGS__); \
    }                                             \
  } while (false)

#define RP_ASSERT(level, condition, ...)                                                 \
  do {                                                                                   \
    if constexpr (ROUTEPACK_ASSERT_LEVEL >= ::routepack::base::detail::kAssert##level) { \
      if (!(condition)) {                                                                \
        ::routepack::base::detail::assertion_failed(                                     \
            #condition, __FILE__, __LINE__, fmt::format(__VA_ARGS__)                     \
        );                                                                               \
      }                                                                                  \
    }                                                                                    \
  } while (false)

namespace routepack::base {

// Integer arithmetic that reports overflow instead of wrapping: costs stay exact int64.

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

}  // namespace routepack::base
