// A point in time after which a wait gives up.
#pragma once

#include <chrono>

namespace routepack {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] static Deadline after(double seconds) {
    return Deadline{
        Clock::now() +
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))};
  }
  [[nodiscard]] bool expired() const { return Clock::now() >= at_; }
  [[nodiscard]] Clock::time_point at() const { return at_; }

 private:
  explicit Deadline(Clock::time_point at) : at_(at) {}
  Clock::time_point at_;
};

}  // namespace routepack
