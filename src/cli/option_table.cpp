#include "cli/option_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

namespace routepack::cli {
namespace {

// "allowed are 1 to 8", "at least 0"; only limits that say something.
std::string allowed_text(Range range) {
  if (std::isfinite(range.min) && std::isfinite(range.max)) {
    return fmt::format("allowed are {} to {}", range.min, range.max);
  }
  return std::isfinite(range.min) ? fmt::format("it must be at least {}", range.min)
                                  : fmt::format("it must be at most {}", range.max);
}

// As an int64 or a double.
template <class T>
T parse_wide(const std::string& text, Range range, const std::string& what, const char* kind) {
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
  // Comparing as double is exact for the ranges of the tables, whose limits are small or powers
  // of 2.
  const auto compared = static_cast<double>(value);
  RP_CHECK(
      std::isfinite(compared), ErrorCode::kNumberOutOfRange, "{} is {}, it must be finite", what,
      text
  );
  RP_CHECK(
      range.holds(compared), ErrorCode::kNumberOutOfRange, "{} is {}, {}", what, text,
      allowed_text(range)
  );
  return value;
}

}  // namespace

template <class Number>
Number parse_number(const std::string& text, Range range, const std::string& what) {
  if constexpr (std::is_floating_point_v<Number>) {
    return parse_wide<Number>(text, range, what, "a number");
  } else {
    return static_cast<Number>(parse_wide<std::int64_t>(text, range, what, "an integer"));
  }
}

template int parse_number(const std::string&, Range, const std::string&);
template std::int64_t parse_number(const std::string&, Range, const std::string&);
template std::uint64_t parse_number(const std::string&, Range, const std::string&);
template double parse_number(const std::string&, Range, const std::string&);

OptionTable::OptionTable(std::string command, std::string summary, CommonOptions& common)
    : command_(std::move(command)), summary_(std::move(summary)), common_(&common) {
  constexpr AcrossRanks kFree = AcrossRanks::kFree;
  text(
      "config", "FILE", common.config,
      "read options from FILE, lines of name = value; the command line wins",
      {.across_ranks = kFree}
  );
  flag(
      "quiet", common.quiet, "print errors only",
      {.contradicts = {"verbose", "progress"}, .across_ranks = kFree}
  );
  flag(
      "verbose", common.verbose, "print every phase on stderr",
      {.contradicts = {"quiet"}, .across_ranks = kFree}
  );
  flag(
      "progress", common.progress, "print progress on stderr even where that is no terminal",
      {.contradicts = {"quiet"}, .across_ranks = kFree}
  );
  flag("help", common.help, "print this text");
  flag("version", common.version, "print the version");
  num_common_ = options_.size();
}

void OptionTable::positional(std::string value_name, std::string& variable) {
  positional_name_ = std::move(value_name);
  positional_ = &variable;
}

void OptionTable::flag(const char* name, bool& variable, std::string help, OptionTraits traits) {
  Option option{.name = name, .help = std::move(help)};
  option.set = [to = &variable](const Words&) {
    *to = true;
    return std::string("given");
  };
  add(std::move(option), std::move(traits));
}

void OptionTable::add(Option option, OptionTraits traits) {
  if (traits.required || traits.hides_default) {
    option.default_value.clear();
  }
  option.value = option.default_value;
  option.traits = std::move(traits);
  options_.insert(options_.end() - static_cast<std::ptrdiff_t>(num_common_), std::move(option));
}

void OptionTable::check(const Option& option, const GivenWords& given) const {
  const std::string name = option.long_name();
  const auto found = given.options.find(name);
  RP_CHECK(
      found != given.options.end() || !option.traits.required, ErrorCode::kUsage, "{} needs --{}",
      command_, name
  );
  if (found == given.options.end()) {
    return;
  }
  for (const std::string& other : option.traits.contradicts) {
    RP_CHECK(
        !given.options.contains(other), ErrorCode::kUsage,
        "{}: --{} and --{} contradict each other", command_, name, other
    );
  }
  for (const std::string& word : found->second) {
    RP_CHECK(!word.empty(), ErrorCode::kUsage, "{}: --{} is empty", command_, name);
  }
}

void OptionTable::take(const GivenWords& given) {
  const bool explains = given.options.contains("help") || given.options.contains("version");
  for (Option& option : options_) {
    const std::string name = option.long_name();
    if (explains && name != "help" && name != "version") {
      option.value.clear();
      continue;
    }
    if (!explains) {
      check(option, given);
    }
    if (const auto found = given.options.find(name); found != given.options.end()) {
      option.value = option.set(found->second);
    }
  }
  if (positional_ != nullptr && !explains) {
    RP_CHECK(
        !given.positional.empty(), ErrorCode::kUsage, "{} needs a {}", command_, positional_name_
    );
    *positional_ = given.positional;
  }
}

bool OptionTable::writes_output() const {
  return std::ranges::any_of(options_, [](const Option& option) {
    return option.traits.across_ranks == AcrossRanks::kOutput && !option.value.empty();
  });
}

std::vector<comm::NamedEvidence> OptionTable::evidence() const {
  std::vector<comm::NamedEvidence> evidence;
  for (const Option& option : options_) {
    const AcrossRanks across = option.traits.across_ranks;
    if (!option.value.empty() && across != AcrossRanks::kFree && across != AcrossRanks::kOutput) {
      evidence.push_back(
          {"option " + option.long_name(),
           across == AcrossRanks::kGivenOrNot ? "given" : option.value}
      );
    }
  }
  return evidence;
}

}  // namespace routepack::cli
