// Clocks: how long something takes, and how long this process runs.
#pragma once

#include <chrono>

namespace routepack {

// Seconds since it was made, by a clock that never goes back.
class Stopwatch {
 public:
  Stopwatch() : start_(std::chrono::steady_clock::now()) {}
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_;
};

// Seconds since the kernel started this process, MPI start-up included, for limits that count from
// the start of the program; 0 where the kernel does not tell.
[[nodiscard]] double seconds_since_process_start();

}  // namespace routepack
