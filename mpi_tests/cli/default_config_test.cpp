// configs/default.cfg states what the option table says: each default, and each option.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "cli/option_parser.hpp"
#include "cli/plan_options.hpp"

namespace routepack::cli {
namespace {

// The values in effect, by option.
std::map<std::string, std::string> parsed(std::vector<std::string> more) {
  std::vector<std::string> arguments = {"window", "--dp", "8", "--ep", "4", "--capacity", "2048"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  PlanRequest request;
  OptionTable table = plan_options(request);
  parse_options(table, arguments);
  std::map<std::string, std::string> values;
  for (const Option& option : table.own_options()) {
    values[option.long_name()] = option.value;
  }
  return values;
}

TEST(DefaultConfig, ChangesNothing) {
  EXPECT_EQ(parsed({"--config", ROUTEPACK_DEFAULT_CONFIG}), parsed({}));
}

TEST(DefaultConfig, NamesEveryOption) {
  std::ifstream file(ROUTEPACK_DEFAULT_CONFIG);
  std::stringstream text;
  text << "\n" << file.rdbuf();
  PlanRequest request;
  const OptionTable table = plan_options(request);
  for (const Option& option : table.own_options()) {
    const char* mark = option.default_value.empty() ? "# " : "";
    const std::string expected = fmt::format("\n{}{} = ", mark, option.long_name());
    EXPECT_NE(text.str().find(expected), std::string::npos) << expected;
  }
}

}  // namespace
}  // namespace routepack::cli
