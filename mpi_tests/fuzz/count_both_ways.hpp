// Counts the routes of a window folder fast and exactly, and in two parts.
#pragma once

#include <string>

namespace routepack::fuzz {

// Throws Surprise where demand or errors differ. Ignores folders that are no window, and windows
// with more than a million counters.
void count_both_ways(const std::string& folder);

}  // namespace routepack::fuzz
