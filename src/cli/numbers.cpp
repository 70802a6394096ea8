#include <charconv>
#include <cmath>
#include <string>
#include <system_error>

#include "base/check.hpp"
#include "cli/option_table.hpp"

namespace routepack::cli {
namespace {

// "allowed are 1 to 8", "at least 0"; only limits that say something.
std::string allowed_text(double min, double max) {
  if (std::isfinite(min) && std::isfinite(max)) {
    return fmt::format("allowed are {} to {}", min, max);
  }
  return std::isfinite(min) ? fmt::format("it must be at least {}", min)
                            : fmt::format("it must be at most {}", max);
}

template <class T>
T parse_number(
    const std::string& text, double min, double max, const std::string& what, const char* kind
) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  RP_CHECK(
      stop == end && error != std::errc::invalid_argument, ErrorCode::kUsage,
      "{} is '{}', expected {}", what, text, kind
  );
  RP_CHECK(
      error == std::errc{}, ErrorCode::kNumberOutOfRange, "{} is {}, which 64 bits do not hold",
      what, text
  );
  // Comparing as double is exact for the ranges of the table, whose limits are small or powers
  // of 2.
  const auto compared = static_cast<double>(value);
  RP_CHECK(
      std::isfinite(compared), ErrorCode::kNumberOutOfRange, "{} is {}, it must be finite", what,
      text
  );
  RP_CHECK(
      compared >= min && compared <= max, ErrorCode::kNumberOutOfRange, "{} is {}, {}", what, text,
      allowed_text(min, max)
  );
  return value;
}

}  // namespace

std::int64_t parse_integer(
    const std::string& text, double min, double max, const std::string& what
) {
  return parse_number<std::int64_t>(text, min, max, what, "an integer");
}

double parse_real(const std::string& text, double min, double max, const std::string& what) {
  return parse_number<double>(text, min, max, what, "a number");
}

}  // namespace routepack::cli
