#include "base/check.hpp"

#include <cstdlib>

#include "base/log.hpp"

namespace routepack::base::detail {

void assertion_failed(const char* condition, const char* file, int line, const std::string& text) {
  report("routepack: internal error: {} does not hold at {}:{}: {}\n", condition, file, line, text);
  std::abort();
}

}  // namespace routepack::base::detail
