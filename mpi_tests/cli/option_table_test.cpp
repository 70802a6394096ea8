#include "cli/option_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/command.hpp"
#include "cli/plan_options.hpp"
#include "support/expect_error.hpp"
#include "support/temp_folder.hpp"

namespace routepack::cli {
namespace {

using testing::expect_error;
using testing::TempFolder;
using testing::write_file;
using Arguments = std::vector<std::string>;

CommandSpec test_command() {
  return {
      .name = "test",
      .positional = "FOLDER",
      .summary = "Tests.",
      .options = {
          {.name = "count,c",
           .kind = OptionKind::kInteger,
           .value_name = "N",
           .help = "a count",
           .default_value = "7",
           .min = -5,
           .max = 100},
          {.name = "weight",
           .kind = OptionKind::kReal,
           .value_name = "W",
           .help = "a weight",
           .min = 0.0},
          {.name = "part",
           .value_name = "P",
           .help = "a part",
           .repeated = true,
           .contradicts = {"whole"}},
          {.name = "whole", .value_name = "P", .help = "all of it", .contradicts = {"part"}},
      }};
}

OptionValues parse(const Arguments& arguments) { return parse_options(test_command(), arguments); }

void expect_refused(const Arguments& arguments, ErrorCode code, const std::string& text) {
  SCOPED_TRACE(::testing::PrintToString(arguments));
  expect_error(code, text, [&] { (void)parse(arguments); });
}

TEST(OptionTable, ReadsEverySpelling) {
  const OptionValues values = parse(
      {"--count=12", "folder", "--weight", "2.5e-1", "--part", "a:1", "--part", "b", "--quiet"}
  );
  EXPECT_EQ(values.positional(), "folder");
  EXPECT_EQ(values.integer("count"), 12);
  EXPECT_EQ(values.real("weight"), 0.25);
  EXPECT_EQ(values.texts("part"), (Arguments{"a:1", "b"}));
  EXPECT_TRUE(values.flag("quiet"));
  EXPECT_FALSE(values.flag("verbose"));
  EXPECT_FALSE(values.has("whole"));
  EXPECT_EQ(parse({"x", "-c", "-3"}).integer("count"), -3);
}

TEST(OptionTable, FillsDefaults) {
  const OptionValues values = parse({"x"});
  EXPECT_EQ(values.integer("count"), 7);
  EXPECT_FALSE(values.has("weight"));
  EXPECT_EQ(values.text("whole"), "");
}

TEST(OptionTable, RefusesWhatIsUnknownMissingOrRepeated) {
  expect_refused({"x", "--nope"}, ErrorCode::kUsage, "--nope");
  expect_refused({"x", "--coun", "3"}, ErrorCode::kUsage, "--coun");  // no guessing
  expect_refused({}, ErrorCode::kUsage, "test needs a FOLDER");
  expect_refused({"x", "y"}, ErrorCode::kUsage, "positional");
  expect_refused({"x", "--count", "1", "--count", "2"}, ErrorCode::kUsage, "count");
  expect_refused({"x", "--count"}, ErrorCode::kUsage, "count");
  expect_refused({"x", "--quiet=1"}, ErrorCode::kUsage, "quiet");
  expect_refused({"x", "--part", "a", "--whole", "b"}, ErrorCode::kUsage, "--part and --whole");
  expect_refused({"x", "--quiet", "--verbose"}, ErrorCode::kUsage, "contradict");
  expect_refused({"x", "--positional argument", "y"}, ErrorCode::kUsage, "");
}

// Words that the option parser itself puts texts in place of.
TEST(OptionTable, TakesPercentSignsAsTheyAre) {
  EXPECT_EQ(parse({"100%", "--whole", "%value%"}).text("whole"), "%value%");
  EXPECT_EQ(parse({"100%value%"}).positional(), "100%value%");
  for (const std::string name :
       {"--d%canonical_option%", "--%%canonical_option%%", "--%value%=1", "-%original_token%",
        "--quiet=%option%%canonical_option%", "--count%prefix%"}) {
    expect_refused({"x", name}, ErrorCode::kUsage, "test: ");
  }
  expect_refused({"x", "--d%canonical_option%"}, ErrorCode::kUsage, "'--d%canonical_option%'");
  expect_refused({"x", "--whole", "a\x01z"}, ErrorCode::kUsage, "control character");
  const TempFolder folder;
  const std::string path = folder.file("file.cfg");
  for (const std::string line :
       {"%invalid_line%", "%canonical_option% = 1", "x%invalid_line%", "[%value%]\nx = 1"}) {
    write_file(path, line + "\n");
    expect_refused({"x", "--config", path}, ErrorCode::kUsage, path);
  }
  write_file(path, "whole = %invalid_line%\n");
  EXPECT_EQ(parse({"x", "--config", path}).text("whole"), "%invalid_line%");
}

TEST(OptionTable, ReadsNumbersStrictly) {
  for (const char* text : {"", "3x", "x", " 3", "3 ", "1e3", "3.0", "0x10", "+3", "1,000", "--3"}) {
    expect_refused({"x", "--count=" + std::string(text)}, ErrorCode::kUsage, "count");
  }
  expect_refused(
      {"x", "--count", "101"}, ErrorCode::kNumberOutOfRange, "--count is 101, allowed are -5 to 100"
  );
  expect_refused({"x", "--count", "-6"}, ErrorCode::kNumberOutOfRange, "--count is -6");
  expect_refused({"x", "--count", "99999999999999999999"}, ErrorCode::kNumberOutOfRange, "--count");
  expect_refused(
      {"x", "--weight", "1.5y"}, ErrorCode::kUsage, "--weight is '1.5y', expected a number"
  );
  const auto expect_weight = [](const char* given, const std::string& text) {
    expect_refused(
        {"x", "--weight", given}, ErrorCode::kNumberOutOfRange,
        "--weight is " + std::string(given) + ", " + text
    );
  };
  expect_weight("-0.5", "it must be at least 0");
  expect_weight("inf", "it must be finite");
  expect_weight("-inf", "it must be finite");
  expect_weight("nan", "it must be finite");
  expect_weight("1e999", "which 64 bits do not hold");
}

TEST(OptionTable, TheCommandLineWinsOverTheFile) {
  const TempFolder folder;
  const std::string path = folder.file("a.cfg");
  write_file(path, "# a comment\ncount = 3\nweight = 0.5\npart = a\npart = b\n");
  OptionValues values = parse({"x", "--config", path, "--count", "4"});
  EXPECT_EQ(values.integer("count"), 4);
  EXPECT_EQ(values.real("weight"), 0.5);
  EXPECT_EQ(values.texts("part"), (Arguments{"a", "b"}));
  values = parse({"x", "--config", path, "--part", "c"});
  EXPECT_EQ(values.texts("part"), Arguments{"c"});
  // What the file says against an option of the command line is dropped, not contradicted.
  values = parse({"x", "--config", path, "--whole", "all"});
  EXPECT_FALSE(values.has("part"));
  EXPECT_EQ(values.text("whole"), "all");
}

TEST(OptionTable, FlagsOfAFileAreTrueOrFalse) {
  const TempFolder folder;
  const std::string path = folder.file("a.cfg");
  write_file(path, "quiet = true\n");
  EXPECT_TRUE(parse({"x", "--config", path}).flag("quiet"));
  EXPECT_FALSE(parse({"x", "--config", path, "--verbose"}).flag("quiet"));
  write_file(path, "quiet = false\nverbose = true\n");
  EXPECT_FALSE(parse({"x", "--config", path}).flag("quiet"));
  EXPECT_TRUE(parse({"x", "--config", path}).flag("verbose"));
  write_file(path, "quiet = maybe\n");
  expect_refused({"x", "--config", path}, ErrorCode::kUsage, "quiet is 'maybe'");
}

TEST(OptionTable, ChecksFilesLikeTheCommandLine) {
  const TempFolder folder;
  const std::string path = folder.file("a.cfg");
  const auto expect = [&](const std::string& content, ErrorCode code, const std::string& text) {
    write_file(path, content);
    expect_refused({"x", "--config", path}, code, text);
  };
  expect("nope = 3\n", ErrorCode::kUsage, "nope");
  expect("config = other.cfg\n", ErrorCode::kUsage, "config");
  expect("count = 3\ncount = 4\n", ErrorCode::kUsage, "count");
  expect("count = three\n", ErrorCode::kUsage, "--count is 'three'");
  expect("count = 1000\n", ErrorCode::kNumberOutOfRange, "--count is 1000");
  expect("part = a\nwhole = b\n", ErrorCode::kUsage, "contradict");
  expect("nonsense\n", ErrorCode::kUsage, "a.cfg");
  expect_refused({"x", "--config", folder.file("none.cfg")}, ErrorCode::kFileMalformed, "none.cfg");
  expect_refused({"x", "--config", folder.file("")}, ErrorCode::kFileMalformed, "cannot read");
  expect("whole =\n", ErrorCode::kUsage, "--whole is empty");
  expect_refused({"x", "--whole", ""}, ErrorCode::kUsage, "--whole");
}

TEST(OptionTable, HelpAsksForNothingElse) {
  EXPECT_TRUE(parse({"--help"}).flag("help"));
  EXPECT_TRUE(parse({"--version", "--count", "x"}).flag("version"));
  const std::string help = help_text(test_command());
  EXPECT_NE(help.find("usage: routepack test FOLDER [options]"), std::string::npos) << help;
  EXPECT_NE(help.find("a count (default 7; -5 to 100)"), std::string::npos) << help;
  EXPECT_NE(help.find("a weight (at least 0)"), std::string::npos) << help;
  EXPECT_NE(help.find("a part (may be repeated)"), std::string::npos) << help;
  EXPECT_NE(help.find("--config FILE"), std::string::npos) << help;
}

// Every table: defaults lie in their ranges, contradictions are known and mutual.
TEST(OptionTable, TablesAreConsistent) {
  std::vector<CommandSpec> specs = {plan_spec(), test_command()};
  for (const Command& command : commands()) {
    specs.push_back(command.spec);
  }
  for (const CommandSpec& spec : specs) {
    std::vector<Option> options = spec.options;
    options.insert(options.end(), common_options().begin(), common_options().end());
    std::map<std::string, Option> by_name;
    for (const Option& option : options) {
      EXPECT_TRUE(by_name.emplace(option.name.substr(0, option.name.find(',')), option).second)
          << option.name;
      EXPECT_FALSE(option.help.empty()) << option.name;
      EXPECT_EQ(option.value_name.empty(), option.kind == OptionKind::kFlag) << option.name;
      if (!option.default_value.empty() && option.kind == OptionKind::kInteger) {
        (void)parse_integer(option.default_value, option.min, option.max, option.name);
      } else if (!option.default_value.empty() && option.kind == OptionKind::kReal) {
        (void)parse_real(option.default_value, option.min, option.max, option.name);
      }
    }
    for (const auto& [name, option] : by_name) {
      for (const std::string& other : option.contradicts) {
        ASSERT_TRUE(by_name.contains(other)) << name << " contradicts " << other;
        const std::vector<std::string>& back = by_name.at(other).contradicts;
        EXPECT_NE(std::find(back.begin(), back.end(), name), back.end()) << name << ", " << other;
      }
    }
  }
}

}  // namespace
}  // namespace routepack::cli
