// Standard output of a command. A write that fails shows at the end, where main flushes: it must
// not part the root from the other ranks in the middle of the work.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace routepack::cli {

template <class... Args>
void print_output(fmt::format_string<Args...> text, Args&&... args) {
  const std::string formatted = fmt::format(text, std::forward<Args>(args)...);
  (void)std::fwrite(formatted.data(), 1, formatted.size(), stdout);
}

}  // namespace routepack::cli
