#include "base/clock.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <limits>
#include <string>

namespace routepack::base {

double seconds_since_process_start() {
  // Field 22 of the file is the start in clock ticks after boot; the name before it may hold
  // spaces.
  std::ifstream file("/proc/self/stat");
  file.ignore(std::numeric_limits<std::streamsize>::max(), ')');
  std::string skipped;
  for (int field = 3; field < 22; ++field) {
    file >> skipped;
  }
  double ticks = 0.0;
  timespec now{};
  if (!(file >> ticks) || clock_gettime(CLOCK_BOOTTIME, &now) != 0) {
    return 0.0;
  }
  const double started = ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  return std::max(
      0.0, static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) - started
  );
}

}  // namespace routepack::base
