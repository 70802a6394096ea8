#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace routepack::detail {

void assertion_failed(const char* condition, const char* file, int line, const std::string& text) {
  fmt::print(
      stderr, "routepack: internal error: {} does not hold at {}:{}: {}\n", condition, file, line,
      text
  );
  std::abort();
}

}  // namespace routepack::detail
