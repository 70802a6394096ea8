#include "base/log.hpp"

#include <cstdio>

namespace routepack {

void Log::write(std::string_view line) { fmt::print(stderr, "routepack: {}\n", line); }

}  // namespace routepack
