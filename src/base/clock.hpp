// Clocks: how long something takes, when a wait gives up, how long this process runs.
#pragma once

#include <chrono>

namespace routepack::base {

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

// A point in time after which a wait gives up.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  // What the clock cannot count to, infinity included, never comes; below 0 and NaN: has passed.
  [[nodiscard]] static Deadline after(double seconds) {
    const Clock::time_point now = Clock::now();
    const std::chrono::duration<double> left = Clock::time_point::max() - now;
    if (!(seconds > 0.0)) {
      return Deadline{now};
    }
    // Half of it: near the clock's end a double is coarser than the clock.
    if (seconds >= left.count() / 2.0) {
      return Deadline{Clock::time_point::max()};
    }
    return Deadline{
        now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))};
  }
  [[nodiscard]] bool expired() const { return Clock::now() >= at_; }
  [[nodiscard]] Clock::time_point at() const { return at_; }

 private:
  explicit Deadline(Clock::time_point at) : at_(at) {}
  Clock::time_point at_;
};

// Seconds since the kernel started this process, MPI start-up included, for limits that count from
// the start of the program; 0 where the kernel does not tell.
[[nodiscard]] double seconds_since_process_start();

}  // namespace routepack::base
