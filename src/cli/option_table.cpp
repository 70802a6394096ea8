#include "cli/option_table.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "base/check.hpp"

namespace routepack::cli {

namespace po = boost::program_options;

namespace {

constexpr const char* kPositional = "positional argument";  // no user can spell it as an option

// "out" of "out,o".
std::string long_name(const Option& option) { return option.name.substr(0, option.name.find(',')); }

std::string range_text(const Option& option) {
  const bool has_min = std::isfinite(option.min);
  const bool has_max = std::isfinite(option.max);
  if (has_min && has_max) {
    return fmt::format("{} to {}", option.min, option.max);
  }
  return has_min ? fmt::format("at least {}", option.min) : "";
}

std::string described(const Option& option) {
  std::string text = option.help;
  std::vector<std::string> notes;
  if (option.required) {
    notes.emplace_back("required");
  }
  if (!option.default_value.empty()) {
    notes.push_back("default " + option.default_value);
  }
  if (const std::string range = range_text(option); !range.empty()) {
    notes.push_back(range);
  }
  if (option.repeated) {
    notes.emplace_back("may be repeated");
  }
  return notes.empty() ? text : fmt::format("{} ({})", text, fmt::join(notes, "; "));
}

void add_to(po::options_description& description, const Option& option) {
  if (option.kind == OptionKind::kFlag) {
    description.add_options()(option.name.c_str(), described(option).c_str());
    return;
  }
  auto* value = option.repeated
                    ? static_cast<po::value_semantic*>(
                          po::value<std::vector<std::string>>()->value_name(option.value_name)
                      )
                    : po::value<std::string>()->value_name(option.value_name);
  description.add_options()(option.name.c_str(), value, described(option).c_str());
}

std::vector<Option> all_options(const CommandSpec& command) {
  std::vector<Option> options = command.options;
  options.insert(options.end(), common_options().begin(), common_options().end());
  return options;
}

// Options that make no sense inside a configuration file.
bool is_for_files(const Option& option) {
  static const std::set<std::string> kNotInFiles = {"config", "help", "version"};
  return !kNotInFiles.contains(long_name(option));
}

// Boost puts what the user wrote in place of %words% in its messages, and again where that holds
// such a word itself, without end. It therefore never sees a percent sign.
constexpr char kPercent = '\x01';

std::string masked(std::string text) {
  RP_CHECK(
      text.find(kPercent) == std::string::npos, ErrorCode::kUsage,
      "the options hold a control character (byte 1)"
  );
  std::ranges::replace(text, '%', kPercent);
  return text;
}

std::string unmasked(std::string text) {
  std::ranges::replace(text, kPercent, '%');
  return text;
}

using Given = std::map<std::string, std::vector<std::string>>;

Given collect(const po::parsed_options& parsed, const std::string& where) {
  po::variables_map variables;
  po::store(parsed, variables);  // refuses repetition of what may not be repeated
  Given given;
  for (const po::option& option : parsed.options) {
    RP_CHECK(
        !option.unregistered, ErrorCode::kUsage, "{}: unknown option '{}'", where,
        unmasked(option.string_key)
    );
    std::vector<std::string>& values = given[option.string_key];
    std::ranges::transform(option.value, std::back_inserter(values), unmasked);
  }
  return given;
}

}  // namespace

// Runs Boost.Program_options over the command line and the files, then checks the outcome.
class OptionParser {
 public:
  explicit OptionParser(const CommandSpec& command)
      : command_(command), options_(all_options(command)) {}

  OptionValues parse(const std::vector<std::string>& arguments) {
    Given given = parse_command_line(arguments);
    OptionValues result;
    if (given.contains("help") || given.contains("version")) {
      result.values_ = std::move(given);
      return result;
    }
    if (given.contains("config")) {
      merge(given, parse_file(given["config"].front()));
    }
    check(given);
    for (const Option& option : options_) {
      if (!option.default_value.empty()) {
        given.try_emplace(long_name(option), 1, option.default_value);
      }
    }
    if (const auto found = given.find(kPositional); found != given.end()) {
      result.positional_ = found->second.front();
    }
    RP_CHECK(
        command_.positional.empty() || !result.positional_.empty(), ErrorCode::kUsage,
        "{} needs a {}", command_.name, command_.positional
    );
    result.values_ = std::move(given);
    return result;
  }

 private:
  Given parse_command_line(const std::vector<std::string>& arguments) const {
    po::options_description description;
    for (const Option& option : options_) {
      add_to(description, option);
    }
    po::positional_options_description positional;
    if (!command_.positional.empty()) {
      description.add_options()(kPositional, po::value<std::string>(), "");
      positional.add(kPositional, 1);
    }
    std::vector<std::string> words;
    std::ranges::transform(arguments, std::back_inserter(words), masked);
    using namespace po::command_line_style;
    try {
      return collect(
          po::command_line_parser(words)
              .options(description)
              .positional(positional)
              .style(unix_style & ~allow_guessing)
              .run(),
          command_.name
      );
    } catch (const po::error& error) {
      fail(ErrorCode::kUsage, "{}: {}", command_.name, unmasked(error.what()));
    }
  }

  Given parse_file(const std::string& path) const {
    po::options_description description;
    for (const Option& option : options_) {
      if (is_for_files(option)) {
        add_to(description, option);
      }
    }
    std::ifstream file(path);
    RP_CHECK(file.good(), ErrorCode::kFileMalformed, "cannot read the configuration file {}", path);
    std::string text;
    for (std::string line; std::getline(file, line);) {
      text += line + '\n';
    }
    // Opening a folder succeeds, reading it does not.
    RP_CHECK(!file.bad(), ErrorCode::kFileMalformed, "cannot read the configuration file {}", path);
    std::istringstream lines(masked(text));
    try {
      Given given = collect(po::parse_config_file(lines, description), path);
      return without_cleared_flags(std::move(given), path);
    } catch (const po::error& error) {
      fail(ErrorCode::kUsage, "{}: {}", path, unmasked(error.what()));
    }
  }

  // In a file a flag has a value, and may be cleared.
  Given without_cleared_flags(Given given, const std::string& path) const {
    for (const Option& option : options_) {
      const auto found = given.find(long_name(option));
      if (option.kind != OptionKind::kFlag || found == given.end()) {
        continue;
      }
      const std::string& value = found->second.front();
      RP_CHECK(
          value == "true" || value == "false", ErrorCode::kUsage,
          "{}: {} is '{}', expected true or false", path, found->first, value
      );
      if (value == "false") {
        given.erase(found);
      }
    }
    return given;
  }

  // The command line wins over the file's value of the same option and over its contradictions.
  void merge(Given& given, const Given& from_file) const {
    std::set<std::string> closed;
    for (const Option& option : options_) {
      if (given.contains(long_name(option))) {
        closed.insert(long_name(option));
        closed.insert(option.contradicts.begin(), option.contradicts.end());
      }
    }
    for (const auto& [name, values] : from_file) {
      if (!closed.contains(name)) {
        given[name] = values;
      }
    }
  }

  void check(const Given& given) const {
    for (const Option& option : options_) {
      const std::string name = long_name(option);
      const auto found = given.find(name);
      RP_CHECK(
          found != given.end() || !option.required, ErrorCode::kUsage, "{} needs --{}",
          command_.name, name
      );
      if (found == given.end()) {
        continue;
      }
      for (const std::string& other : option.contradicts) {
        RP_CHECK(
            !given.contains(other), ErrorCode::kUsage, "{}: --{} and --{} contradict each other",
            command_.name, name, other
        );
      }
      for (const std::string& value : found->second) {
        RP_CHECK(!value.empty(), ErrorCode::kUsage, "{}: --{} is empty", command_.name, name);
        if (option.kind == OptionKind::kInteger) {
          (void)parse_integer(value, option.min, option.max, "--" + name);
        } else if (option.kind == OptionKind::kReal) {
          (void)parse_real(value, option.min, option.max, "--" + name);
        }
      }
    }
  }

  const CommandSpec& command_;
  std::vector<Option> options_;
};

const std::vector<Option>& common_options() {
  static const std::vector<Option> kOptions = {
      {.name = "config",
       .value_name = "FILE",
       .help = "read options from FILE, lines of name = value; the command line wins",
       .across_ranks = AcrossRanks::kFree},
      {.name = "quiet",
       .kind = OptionKind::kFlag,
       .help = "print errors only",
       .contradicts = {"verbose", "progress"},
       .across_ranks = AcrossRanks::kFree},
      {.name = "verbose",
       .kind = OptionKind::kFlag,
       .help = "print every phase on stderr",
       .contradicts = {"quiet"},
       .across_ranks = AcrossRanks::kFree},
      {.name = "progress",
       .kind = OptionKind::kFlag,
       .help = "print progress on stderr even where that is no terminal",
       .contradicts = {"quiet"},
       .across_ranks = AcrossRanks::kFree},
      {.name = "help", .kind = OptionKind::kFlag, .help = "print this text"},
      {.name = "version", .kind = OptionKind::kFlag, .help = "print the version"},
  };
  return kOptions;
}

OptionValues parse_options(const CommandSpec& command, const std::vector<std::string>& arguments) {
  return OptionParser(command).parse(arguments);
}

std::string help_text(const CommandSpec& command) {
  po::options_description own("Options", 100);
  for (const Option& option : command.options) {
    add_to(own, option);
  }
  po::options_description common("Common options", 100);
  for (const Option& option : common_options()) {
    add_to(common, option);
  }
  std::ostringstream text;
  text << "usage: routepack " << command.name;
  if (!command.positional.empty()) {
    text << ' ' << command.positional;
  }
  text << " [options]\n\n" << command.summary << "\n\n";
  if (!command.options.empty()) {
    text << own << '\n';
  }
  text << common;
  return text.str();
}

bool OptionValues::has(const std::string& name) const { return values_.contains(name); }

const std::vector<std::string>& OptionValues::texts(const std::string& name) const {
  static const std::vector<std::string> kNone;
  const auto found = values_.find(name);
  return found == values_.end() ? kNone : found->second;
}

const std::string& OptionValues::text(const std::string& name) const {
  static const std::string kNone;
  const std::vector<std::string>& given = texts(name);
  return given.empty() ? kNone : given.front();
}

std::int64_t OptionValues::integer(const std::string& name) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return parse_integer(text(name), -kInfinity, kInfinity, "--" + name);
}

double OptionValues::real(const std::string& name) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return parse_real(text(name), -kInfinity, kInfinity, "--" + name);
}

bool OptionValues::flag(const std::string& name) const { return has(name); }

}  // namespace routepack::cli
