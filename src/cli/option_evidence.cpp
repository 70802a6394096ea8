#include "cli/option_evidence.hpp"

#include <fmt/format.h>

#include <string>

namespace routepack::cli {
namespace {

std::string value_text(const Option& option, const std::string& name, const OptionValues& values) {
  if (option.kind == OptionKind::kFlag || option.across_ranks == AcrossRanks::kGivenOrNot) {
    return "given";
  }
  switch (option.kind) {
    case OptionKind::kInteger:
      return fmt::format("{}", values.integer(name));
    case OptionKind::kReal:
      return fmt::format("{}", values.real(name));
    default:
      return fmt::format("{}", fmt::join(values.texts(name), " "));
  }
}

}  // namespace

std::vector<NamedEvidence> evidence_of(const CommandSpec& command, const OptionValues& values) {
  const bool only_explains = values.flag("help") || values.flag("version");  // numbers unchecked
  std::vector<NamedEvidence> evidence;
  for (const std::vector<Option>* options : {&command.options, &common_options()}) {
    for (const Option& option : *options) {
      const std::string name = option.name.substr(0, option.name.find(','));
      const bool explains = name == "help" || name == "version";
      if (values.has(name) && option.across_ranks != AcrossRanks::kFree &&
          (explains || !only_explains)) {
        evidence.push_back({"option " + name, value_text(option, name, values)});
      }
    }
  }
  return evidence;
}

}  // namespace routepack::cli
