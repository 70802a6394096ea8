#include "base/clock.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace routepack::base {
namespace {

double seconds_left(const Deadline& deadline) {
  return std::chrono::duration<double>(deadline.at() - Deadline::Clock::now()).count();
}

TEST(Deadline, IsAsFarAwayAsItSays) {
  EXPECT_TRUE(Deadline::after(0.0).expired());
  for (const double seconds : {0.5, 60.0, 1e5, 1e9}) {
    const Deadline deadline = Deadline::after(seconds);
    EXPECT_FALSE(deadline.expired());
    EXPECT_NEAR(seconds_left(deadline), seconds, 0.4 + 1e-6 * seconds);
  }
}

// The clock counts 64 bits of nanoseconds: beyond them it must not begin anew.
TEST(Deadline, OfWhatTheClockCannotCountNeverComes) {
  for (const double seconds :
       {4.7e9, 9.2e9, 9.3e9, 1e10, 1.9e10, 1e300, std::numeric_limits<double>::max(),
        std::numeric_limits<double>::infinity()}) {
    const Deadline deadline = Deadline::after(seconds);
    EXPECT_FALSE(deadline.expired()) << seconds;
    EXPECT_GT(seconds_left(deadline), 4.6e9) << seconds;
  }
}

TEST(Deadline, HasPassedWhereThereIsNoSuchTime) {
  for (const double seconds :
       {-1.0, -1e300, -std::numeric_limits<double>::infinity(),
        std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(Deadline::after(seconds).expired()) << seconds;
  }
}

}  // namespace
}  // namespace routepack::base
