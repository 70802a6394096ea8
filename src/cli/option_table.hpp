// One table of options serves the command line, configuration files and --help: name, text,
// default and range stand in one place.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace routepack::cli {

enum class OptionKind { kFlag, kText, kInteger, kReal };

// What must be equal on all MPI ranks.
enum class AcrossRanks {
  kEqual,
  kGivenOrNot,  // an input's path: each node may have its own copy
  kFree,        // threads, reports, and the output's path, of which the root's counts
};

struct Option {
  std::string name = {};  // without dashes; "out,o" adds the short form -o
  OptionKind kind = OptionKind::kText;
  std::string value_name = {};  // shown in help, e.g. "N"; empty for a flag
  std::string help = {};
  std::string default_value = {};                         // as the user would write it; empty: none
  double min = -std::numeric_limits<double>::infinity();  // of numbers, inclusive
  double max = std::numeric_limits<double>::infinity();
  bool repeated = false;
  bool required = false;
  std::vector<std::string> contradicts =
      {};  // options that may not stand beside this one, and the reverse
  AcrossRanks across_ranks = AcrossRanks::kEqual;
};

struct CommandSpec {
  std::string name = {};        // e.g. "demand"
  std::string positional = {};  // name of its one argument, e.g. "WINDOW"
  std::string summary = {};
  std::vector<Option> options = {};
};

// The options of every command: --config, --quiet, --verbose, --progress, --help, --version.
[[nodiscard]] const std::vector<Option>& common_options();

// What the user gave, defaults filled in. Numbers have been checked against their ranges.
class OptionValues {
 public:
  [[nodiscard]] bool has(const std::string& name) const;  // given, or has a default
  [[nodiscard]] const std::string& text(const std::string& name) const;
  [[nodiscard]] const std::vector<std::string>& texts(const std::string& name) const;
  [[nodiscard]] std::int64_t integer(const std::string& name) const;
  [[nodiscard]] double real(const std::string& name) const;
  [[nodiscard]] bool flag(const std::string& name) const;
  [[nodiscard]] const std::string& positional() const { return positional_; }

 private:
  friend class OptionParser;
  std::map<std::string, std::vector<std::string>> values_;
  std::string positional_;
};

// Parses a command's arguments and the files of --config; the command line wins, also over what a
// file says in contradiction to it. With --help or --version nothing else is checked.
// Throws USAGE for an option that is unknown, missing, repeated, malformed or contradictory,
// NUMBER_OUT_OF_RANGE naming the option and its range, FILE_MALFORMED for an unreadable file.
[[nodiscard]] OptionValues parse_options(
    const CommandSpec& command, const std::vector<std::string>& arguments
);

[[nodiscard]] std::string help_text(const CommandSpec& command);

// A whole string as a number; throw USAGE and NUMBER_OUT_OF_RANGE, naming `what`.
[[nodiscard]] std::int64_t parse_integer(
    const std::string& text, double min, double max, const std::string& what
);
[[nodiscard]] double parse_real(
    const std::string& text, double min, double max, const std::string& what
);

}  // namespace routepack::cli
