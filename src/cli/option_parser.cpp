#include "cli/option_parser.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace routepack::cli {

namespace po = boost::program_options;

namespace {

constexpr const char* kPositional = "positional argument";  // no user can spell it as an option

std::string range_text(Range range) {
  if (std::isfinite(range.min) && std::isfinite(range.max)) {
    return fmt::format("{} to {}", range.min, range.max);
  }
  return std::isfinite(range.min) ? fmt::format("at least {}", range.min) : "";
}

std::string described(const Option& option) {
  std::vector<std::string> notes;
  if (option.traits.required) {
    notes.emplace_back("required");
  }
  if (!option.default_value.empty()) {
    notes.push_back("default " + option.default_value);
  }
  if (const std::string range = range_text(option.range); !range.empty()) {
    notes.push_back(range);
  }
  if (option.repeated) {
    notes.emplace_back("may be repeated");
  }
  return notes.empty() ? option.help : fmt::format("{} ({})", option.help, fmt::join(notes, "; "));
}

void add_to(po::options_description& description, const Option& option) {
  if (option.is_flag()) {
    description.add_options()(option.name.c_str(), described(option).c_str());
    return;
  }
  auto* value =
      option.repeated
          ? static_cast<po::value_semantic*>(po::value<Words>()->value_name(option.value_name))
          : po::value<std::string>()->value_name(option.value_name);
  description.add_options()(option.name.c_str(), value, described(option).c_str());
}

// Options that make no sense inside a configuration file.
bool is_for_files(const Option& option) {
  static const std::set<std::string> kNotInFiles = {"config", "help", "version"};
  return !kNotInFiles.contains(option.long_name());
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

using Given = std::map<std::string, Words>;

Given collect(const po::parsed_options& parsed, const std::string& where) {
  po::variables_map variables;
  po::store(parsed, variables);  // refuses repetition of what may not be repeated
  Given given;
  for (const po::option& option : parsed.options) {
    RP_CHECK(
        !option.unregistered, ErrorCode::kUsage, "{}: unknown option '{}'", where,
        unmasked(option.string_key)
    );
    Words& words = given[option.string_key];
    std::ranges::transform(option.value, std::back_inserter(words), unmasked);
  }
  return given;
}

Given read_command_line(const OptionTable& table, const std::vector<std::string>& arguments) {
  po::options_description description;
  for (const Option& option : table.options()) {
    add_to(description, option);
  }
  po::positional_options_description positional;
  if (!table.positional_name().empty()) {
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
        table.command()
    );
  } catch (const po::error& error) {
    base::fail(ErrorCode::kUsage, "{}: {}", table.command(), unmasked(error.what()));
  }
}

// In a file a flag has a value, and may be cleared.
Given without_cleared_flags(const OptionTable& table, Given given, const std::string& path) {
  for (const Option& option : table.options()) {
    const auto found = given.find(option.long_name());
    if (!option.is_flag() || found == given.end()) {
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

Given read_file(const OptionTable& table, const std::string& path) {
  po::options_description description;
  for (const Option& option : table.options()) {
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
    return without_cleared_flags(
        table, collect(po::parse_config_file(lines, description), path), path
    );
  } catch (const po::error& error) {
    base::fail(ErrorCode::kUsage, "{}: {}", path, unmasked(error.what()));
  }
}

// The command line wins over the file's value of the same option and over its contradictions.
Given merged(const OptionTable& table, Given given, const Given& from_file) {
  std::set<std::string> closed;
  for (const Option& option : table.options()) {
    if (given.contains(option.long_name())) {
      closed.insert(option.long_name());
      closed.insert(option.traits.contradicts.begin(), option.traits.contradicts.end());
    }
  }
  for (const auto& [name, words] : from_file) {
    if (!closed.contains(name)) {
      given[name] = words;
    }
  }
  return given;
}

}  // namespace

void parse_options(OptionTable& table, const std::vector<std::string>& arguments) {
  GivenWords given{.options = read_command_line(table, arguments)};
  const bool explains = given.options.contains("help") || given.options.contains("version");
  if (const auto found = given.options.find("config"); found != given.options.end() && !explains) {
    const Given from_file = read_file(table, found->second.front());
    given.options = merged(table, std::move(given.options), from_file);
  }
  if (const auto found = given.options.find(kPositional); found != given.options.end()) {
    given.positional = found->second.front();
  }
  table.take(given);
}

std::string help_text(const OptionTable& table) {
  po::options_description own("Options", 100);
  for (const Option& option : table.own_options()) {
    add_to(own, option);
  }
  po::options_description common("Common options", 100);
  for (const Option& option : table.common_options()) {
    add_to(common, option);
  }
  std::ostringstream text;
  text << "usage: routepack " << table.command();
  if (!table.positional_name().empty()) {
    text << ' ' << table.positional_name();
  }
  text << " [options]\n\n" << table.summary() << "\n\n";
  if (!table.own_options().empty()) {
    text << own << '\n';
  }
  text << common;
  return text.str();
}

}  // namespace routepack::cli
