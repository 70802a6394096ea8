// Standard output of a command. A write that fails shows at the end, where main flushes: it must
// not part the root from the other ranks in the middle of the work.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

#include "routepack/plan.hpp"

namespace routepack::cli {

template <class... Args>
void print_output(fmt::format_string<Args...> text, Args&&... args) {
  const std::string formatted = fmt::format(text, std::forward<Args>(args)...);
  (void)std::fwrite(formatted.data(), 1, formatted.size(), stdout);
}

// What `plan` prints: the three policies side by side, and what is proven.
// A line a metric; changes are of the plan against baseline and reorder, in percent (negative:
// smaller). Ends with the row certificate, the gap to the lower bound and the experts to move.
[[nodiscard]] std::string plan_table(const Plan& plan);

}  // namespace routepack::cli
