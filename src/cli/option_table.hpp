// A command's options, each bound to the variable that it sets: one statement gives its name, its
// range, its help and where it goes. The default that --help shows is what the variable holds at
// that moment, so it stands in one place only.
#pragma once

#include <fmt/ranges.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/log.hpp"
#include "comm/agreement.hpp"

namespace routepack::cli {

// Of numbers, inclusive.
struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  [[nodiscard]] bool holds(double number) const { return number >= min && number <= max; }
};

[[nodiscard]] constexpr Range at_least(double min) { return {.min = min}; }

// A whole text as a number, int, int64, uint64 (up to 2^63 - 1) or double. Throws USAGE and
// NUMBER_OUT_OF_RANGE, naming `what`.
template <class Number>
[[nodiscard]] Number parse_number(const std::string& text, Range range, const std::string& what);

// What must be equal on all MPI ranks.
enum class AcrossRanks {
  kEqual,
  kGivenOrNot,  // an input's path: each node may have its own copy
  kFree,        // threads, reports
  kOutput,      // the output's path, of which the root's counts
};

struct OptionTraits {
  bool required = false;
  bool hides_default = false;  // the variable's value stands for "not given"
  // Options that may not stand beside this one, and the reverse.
  std::vector<std::string> contradicts = {};
  AcrossRanks across_ranks = AcrossRanks::kEqual;
};

using Words = std::vector<std::string>;  // an option's values as the user wrote them

struct Option {
  std::string name = {};        // without dashes; "out,o" adds the short form -o
  std::string value_name = {};  // shown in help, e.g. "N"; empty for a flag
  std::string help = {};
  Range range = {};
  bool repeated = false;
  OptionTraits traits = {};
  std::string default_value = {};  // as the user would write it; empty: none
  // Checks the words and sets the variable. Returns the value as the ranks compare it, never "".
  std::function<std::string(const Words& words)> set = {};
  std::string value = {};  // what `set` returned, else the default

  [[nodiscard]] bool is_flag() const { return value_name.empty(); }
  [[nodiscard]] std::string long_name() const { return name.substr(0, name.find(',')); }
};

// A word that an option knows.
template <class T>
struct Choice {
  std::string_view word;
  T value;
};

// The options of every command.
struct CommonOptions {
  std::string config;
  bool quiet = false;
  bool verbose = false;
  bool progress = false;  // even where stderr is no terminal
  bool help = false;
  bool version = false;

  [[nodiscard]] base::Verbosity verbosity() const {
    return quiet     ? base::Verbosity::kQuiet
           : verbose ? base::Verbosity::kVerbose
                     : base::Verbosity::kNormal;
  }
};

// What stands on the command line and in the files of --config, by option.
struct GivenWords {
  std::map<std::string, Words> options = {};
  std::string positional = {};
};

class OptionTable {
 public:
  // What options are bound to, `common` too, must outlive the table and stay where it is.
  OptionTable(std::string command, std::string summary, CommonOptions& common);

  // The command's one argument, which must be given.
  void positional(std::string value_name, std::string& variable);

  void flag(const char* name, bool& variable, std::string help, OptionTraits traits = {});

  void text(
      const char* name,
      std::string value_name,
      std::string& variable,
      std::string help,
      OptionTraits traits = {}
  ) {
    const auto itself = [](const std::string& word) { return word; };
    parsed(
        name, std::move(value_name), variable, itself, variable, std::move(help), std::move(traits)
    );
  }

  // Of int, int64, uint64 or double, or an optional one. An initial value outside of the range, or
  // none, stands for "not given".
  template <class Variable>
  void number(
      const char* name,
      std::string value_name,
      Variable& variable,
      Range range,
      std::string help,
      OptionTraits traits = {}
  ) {
    using Number = typename NumberOf<Variable>::Type;
    RP_ASSERT(
        light, holds_range<Number>(range), "--{}: its variable does not hold {} to {}", name,
        range.min, range.max
    );
    const std::optional<Number> initial = variable;
    Option option{.name = name, .value_name = std::move(value_name), .help = std::move(help)};
    option.range = range;
    if (initial && range.holds(static_cast<double>(*initial))) {
      option.default_value = fmt::format("{}", *initial);
    }
    option.set = [to = &variable, range, what = "--" + option.long_name()](const Words& words) {
      const auto number = parse_number<Number>(words.front(), range, what);
      *to = number;
      return fmt::format("{}", number);
    };
    add(std::move(option), std::move(traits));
  }

  // One of a few words. Without a value name, help shows them in its place.
  template <class T, std::size_t kSize>
  void choice(
      const char* name,
      std::string value_name,
      T& variable,
      const Choice<T> (&choices)[kSize],
      std::string help,
      OptionTraits traits = {}
  ) {
    std::string known;
    std::string initial;
    for (const Choice<T>& choice : choices) {
      known += fmt::format("{}{}", known.empty() ? "" : "|", choice.word);
      initial = choice.value == variable ? choice.word : initial;
    }
    const auto read = [name, known, &choices](const std::string& word) {
      for (const Choice<T>& choice : choices) {
        if (choice.word == word) {
          return choice.value;
        }
      }
      base::fail(ErrorCode::kUsage, "--{} is '{}', expected {}", name, word, known);
    };
    parsed(
        name, value_name.empty() ? known : std::move(value_name), variable, read, initial,
        std::move(help), std::move(traits)
    );
  }

  // Of a form of its own: read(word) gives the value, or throws. `initial` is the variable's value
  // as the user would write it, empty where it stands for "not given".
  template <class T, class Read>
  void parsed(
      const char* name,
      std::string value_name,
      T& variable,
      Read read,
      std::string initial,
      std::string help,
      OptionTraits traits = {}
  ) {
    Option option{.name = name, .value_name = std::move(value_name), .help = std::move(help)};
    option.default_value = std::move(initial);
    option.set = [to = &variable, read](const Words& words) {
      *to = read(words.front());
      return words.front();
    };
    add(std::move(option), std::move(traits));
  }

  // The same, any number of times.
  template <class T, class Read>
  void repeated(
      const char* name,
      std::string value_name,
      std::vector<T>& variable,
      Read read,
      std::string help,
      OptionTraits traits = {}
  ) {
    Option option{.name = name, .value_name = std::move(value_name), .help = std::move(help)};
    option.repeated = true;
    option.set = [to = &variable, read](const Words& words) {
      to->clear();
      for (const std::string& word : words) {
        to->push_back(read(word));
      }
      return fmt::format("{}", fmt::join(words, " "));
    };
    add(std::move(option), std::move(traits));
  }

  [[nodiscard]] const std::string& command() const { return command_; }
  [[nodiscard]] const std::string& summary() const { return summary_; }
  [[nodiscard]] const std::string& positional_name() const { return positional_name_; }
  [[nodiscard]] const CommonOptions& common() const { return *common_; }
  // Own options first, then those of every command.
  [[nodiscard]] std::span<const Option> options() const { return options_; }
  [[nodiscard]] std::span<const Option> own_options() const {
    return options().first(options_.size() - num_common_);
  }
  [[nodiscard]] std::span<const Option> common_options() const {
    return options().last(num_common_);
  }

  // Checks what was given and sets the variables. With --help or --version nothing else is looked
  // at. Throws USAGE for an option that is missing, empty, malformed or contradictory,
  // NUMBER_OUT_OF_RANGE naming the option and its range.
  void take(const GivenWords& given);

  // Is there a path that the command is to write to? After take().
  [[nodiscard]] bool writes_output() const;

  // What the ranks must have been given alike, by AcrossRanks: numbers as they are understood, so
  // that 1 and 1.0 are equal. After take().
  [[nodiscard]] std::vector<comm::NamedEvidence> evidence() const;

 private:
  template <class T>
  struct NumberOf {
    using Type = T;
  };
  template <class T>
  struct NumberOf<std::optional<T>> {
    using Type = T;
  };
  template <class Number>
  static constexpr bool holds_range(Range range) {
    if constexpr (sizeof(Number) == sizeof(std::int64_t)) {
      return std::is_signed_v<Number> || range.min >= 0.0;
    } else {
      return range.min >= std::numeric_limits<Number>::min() &&
             range.max <= std::numeric_limits<Number>::max();
    }
  }

  void add(Option option, OptionTraits traits);
  void check(const Option& option, const GivenWords& given) const;

  std::string command_;
  std::string summary_;
  std::string positional_name_;
  std::string* positional_ = nullptr;
  CommonOptions* common_;
  std::vector<Option> options_;
  std::size_t num_common_ = 0;
};

}  // namespace routepack::cli
