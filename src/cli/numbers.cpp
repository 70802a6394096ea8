#include <charconv>
#include <cmath>
#include <system_error>

#include "base/check.hpp"
#include "cli/option_table.hpp"

namespace routepack::cli {
namespace {

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
  // Comparing as double is exact for the ranges of the table, whose limits are small or powers
  // of 2.
  const auto compared = static_cast<double>(value);
  RP_CHECK(
      error == std::errc{} && std::isfinite(compared) && compared >= min && compared <= max,
      ErrorCode::kNumberOutOfRange, "{} is {}, allowed are {} to {}", what, text, min, max
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
