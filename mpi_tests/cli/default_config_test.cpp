// configs/default.cfg states what the option table says: each default, and each option.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cli/plan_options.hpp"

namespace routepack::cli {
namespace {

OptionValues parsed(std::vector<std::string> more) {
  std::vector<std::string> arguments = {"window", "--dp", "8", "--ep", "4", "--capacity", "2048"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return parse_options(plan_spec(), arguments);
}

std::string long_name(const Option& option) { return option.name.substr(0, option.name.find(',')); }

TEST(DefaultConfig, ChangesNothing) {
  const OptionValues without = parsed({});
  const OptionValues with = parsed({"--config", ROUTEPACK_DEFAULT_CONFIG});
  for (const Option& option : plan_spec().options) {
    const std::string name = long_name(option);
    EXPECT_EQ(with.has(name), without.has(name)) << name;
    if (with.has(name) && without.has(name) && option.kind != OptionKind::kFlag) {
      EXPECT_EQ(with.text(name), without.text(name)) << name;
    }
  }
}

TEST(DefaultConfig, NamesEveryOption) {
  std::ifstream file(ROUTEPACK_DEFAULT_CONFIG);
  std::stringstream text;
  text << "\n" << file.rdbuf();
  for (const Option& option : plan_spec().options) {
    const char* mark = option.default_value.empty() ? "# " : "";
    const std::string expected = fmt::format("\n{}{} = ", mark, long_name(option));
    EXPECT_NE(text.str().find(expected), std::string::npos) << expected;
  }
}

}  // namespace
}  // namespace routepack::cli
