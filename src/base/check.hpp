// fail(): bad input, with a code that users see. RP_CHECK: the same, as a condition.
// RP_ASSERT(level, condition, …): an invariant of ours; broken, the program stops.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "routepack/error.hpp"

namespace routepack {

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
}  // namespace routepack

#define RP_CHECK(condition, code, ...)      \
  do {                                      \
    if (!(condition)) {                     \
      ::routepack::fail(code, __VA_ARGS__); \
    }                                       \
  } while (false)

#define RP_ASSERT(level, condition, ...)                                           \
  do {                                                                             \
    if constexpr (ROUTEPACK_ASSERT_LEVEL >= ::routepack::detail::kAssert##level) { \
      if (!(condition)) {                                                          \
        ::routepack::detail::assertion_failed(                                     \
            #condition, __FILE__, __LINE__, fmt::format(__VA_ARGS__)               \
        );                                                                         \
      }                                                                            \
    }                                                                              \
  } while (false)
