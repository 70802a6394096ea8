#include "base/node_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string_view>

namespace routepack::base {
namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

// This process's group: the line "0::PATH"; the others are of version 1.
std::string own_control_group() {
  constexpr std::string_view kPrefix = "0::";
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kPrefix)) {
      return line.substr(kPrefix.size());
    }
  }
  return "/";
}

}  // namespace

std::int64_t control_group_limit(const std::string& hierarchy, const std::string& group) {
  std::int64_t least = kUnlimited;
  std::string at = group;
  while (true) {
    std::ifstream file(hierarchy + at + "/memory.max");
    std::int64_t limit = 0;
    if (file >> limit) {  // the word "max" is no number
      least = std::min(least, limit);
    }
    const std::size_t slash = at.rfind('/');
    if (at.empty() || slash == std::string::npos) {
      return least;
    }
    at.resize(slash);
  }
}

std::int64_t node_memory_bytes() {
  const std::int64_t physical =
      std::int64_t{::sysconf(_SC_PHYS_PAGES)} * std::int64_t{::sysconf(_SC_PAGESIZE)};
  const std::int64_t allowed = control_group_limit("/sys/fs/cgroup", own_control_group());
  return physical > 0 ? std::min(physical, allowed) : allowed;
}

}  // namespace routepack::base
