#include "cli/option_table.hpp"

#include <gtest/gtest.h>

#include <map>

#include "cli/option_parser.hpp"
#include "support/expect_error.hpp"
#include "support/temp_folder.hpp"

namespace routepack::cli {
namespace {

using testing::expect_error;
using testing::TempFolder;
using testing::write_file;
using Arguments = std::vector<std::string>;

enum class Shade { kDark, kPale };
constexpr Choice<Shade> kShades[] = {{"dark", Shade::kDark}, {"pale", Shade::kPale}};

struct Fields {
  CommonOptions common;
  std::string folder;
  int count = 7;
  std::int64_t limit = 0;  // 0: none
  std::uint64_t seed = 3;
  double share = 0.25;
  std::optional<double> weight;
  std::vector<std::string> parts;
  std::string whole;
  std::string input;
  std::string output;
  Shade shade = Shade::kPale;
  std::int64_t length = 2;
  bool loud = false;
  int threads = 4;
};

std::int64_t length_of(const std::string& word) {
  RP_CHECK(word != "none", ErrorCode::kUsage, "--length of is {}", word);
  return static_cast<std::int64_t>(word.size());
}

OptionTable table_of(Fields& fields) {
  OptionTable table("test", "Tests.", fields.common);
  const auto itself = [](const std::string& word) { return word; };
  table.positional("FOLDER", fields.folder);
  table.number("count,c", "N", fields.count, {-5, 100}, "a count");
  table.number("limit", "N", fields.limit, at_least(1), "a limit");
  table.number("seed", "N", fields.seed, at_least(0), "a seed", {.hides_default = true});
  table.number("share", "X", fields.share, {0, 1}, "a share");
  table.number("weight", "W", fields.weight, at_least(0), "a weight");
  table.repeated("part", "P", fields.parts, itself, "a part", {.contradicts = {"whole"}});
  table.text("whole", "P", fields.whole, "all of it", {.contradicts = {"part"}});
  table.text("in", "FILE", fields.input, "read", {.across_ranks = AcrossRanks::kGivenOrNot});
  table.text("out,o", "FILE", fields.output, "written", {.across_ranks = AcrossRanks::kOutput});
  table.choice("shade", "", fields.shade, kShades, "a shade");
  table.parsed("length", "WORD", fields.length, length_of, "ab", "a word");
  table.flag("loud", fields.loud, "a flag");
  table.number("threads", "N", fields.threads, {1, 9}, "", {.across_ranks = AcrossRanks::kFree});
  return table;
}

Fields parse(const Arguments& arguments) {
  Fields fields;
  OptionTable table = table_of(fields);
  parse_options(table, arguments);
  return fields;
}

void expect_refused(const Arguments& arguments, ErrorCode code, const std::string& text) {
  SCOPED_TRACE(::testing::PrintToString(arguments));
  expect_error(code, text, [&] { (void)parse(arguments); });
}

TEST(OptionTable, ReadsEverySpelling) {
  const Fields fields = parse(
      {"--count=12", "folder", "--weight", "2.5e-1", "--part", "a:1", "--part", "b", "--quiet"}
  );
  EXPECT_EQ(fields.folder, "folder");
  EXPECT_EQ(fields.count, 12);
  EXPECT_EQ(fields.weight, 0.25);
  EXPECT_EQ(fields.parts, (Arguments{"a:1", "b"}));
  EXPECT_EQ(fields.common.verbosity(), base::Verbosity::kQuiet);
  EXPECT_EQ(fields.whole, "");
  EXPECT_EQ(parse({"x", "-c", "-3"}).count, -3);
}

TEST(OptionTable, SetsVariablesOfEveryType) {
  const Fields fields = parse(
      {"x", "--limit", "9223372036854775807", "--seed", "9223372036854775807", "--share", "1",
       "--shade", "dark", "--length", "four", "--loud", "--whole", "all of it"}
  );
  EXPECT_EQ(fields.limit, 9223372036854775807);
  EXPECT_EQ(fields.seed, 9223372036854775807U);
  EXPECT_EQ(fields.share, 1.0);
  EXPECT_EQ(fields.shade, Shade::kDark);
  EXPECT_EQ(fields.length, 4);
  EXPECT_TRUE(fields.loud);
  EXPECT_EQ(fields.whole, "all of it");
}

TEST(OptionTable, LeavesWhatIsNotGiven) {
  const Fields fields = parse({"x"});
  const Fields initial;
  EXPECT_EQ(fields.count, initial.count);
  EXPECT_EQ(fields.limit, initial.limit);
  EXPECT_EQ(fields.seed, initial.seed);
  EXPECT_EQ(fields.share, initial.share);
  EXPECT_FALSE(fields.weight.has_value());
  EXPECT_EQ(fields.shade, initial.shade);
  EXPECT_EQ(fields.length, initial.length);
  EXPECT_FALSE(fields.loud);
  EXPECT_EQ(fields.whole, "");
}

TEST(OptionTable, RefusesWordsThatAnOptionDoesNotKnow) {
  expect_refused(
      {"x", "--shade", "red"}, ErrorCode::kUsage, "--shade is 'red', expected dark|pale"
  );
  expect_refused({"x", "--length", "none"}, ErrorCode::kUsage, "--length of is none");
}

// The default is what the variable holds where the option is declared.
TEST(OptionTable, ShowsTheInitialValuesAsDefaults) {
  Fields fields;
  fields.count = 42;
  fields.limit = 5;
  fields.weight = 0.5;
  fields.whole = "everything";
  fields.shade = Shade::kDark;
  std::map<std::string, std::string> shown;
  const OptionTable table = table_of(fields);
  for (const Option& option : table.own_options()) {
    if (!option.default_value.empty()) {
      shown[option.long_name()] = option.default_value;
    }
  }
  const std::map<std::string, std::string> expected = {
      {"count", "42"},         {"limit", "5"},    {"share", "0.25"}, {"weight", "0.5"},
      {"whole", "everything"}, {"shade", "dark"}, {"length", "ab"},  {"threads", "4"}};
  EXPECT_EQ(shown, expected);
}

// Not in the range, empty, or hidden on purpose.
TEST(OptionTable, ShowsNoDefaultForWhatStandsForNotGiven) {
  Fields fields;
  fields.count = 101;
  const OptionTable table = table_of(fields);
  for (const Option& option : table.own_options()) {
    const std::string name = option.long_name();
    const bool shows = name == "share" || name == "shade" || name == "length" || name == "threads";
    EXPECT_EQ(option.default_value.empty(), !shows) << name;
  }
}

std::string evidence(const Arguments& arguments) {
  Fields fields;
  OptionTable table = table_of(fields);
  parse_options(table, arguments);
  std::string text;
  for (const comm::NamedEvidence& entry : table.evidence()) {
    text += fmt::format("{}={};", entry.name, entry.value);
  }
  return text;
}

TEST(OptionTable, RanksCompareValuesAsTheyAreUnderstood) {
  const std::string plain = "option count=7;option share=0.25;option shade=pale;option length=ab;";
  EXPECT_EQ(evidence({"x"}), plain);
  EXPECT_EQ(
      evidence({"y", "--count", "007", "--share", "2.5e-1", "--threads", "2", "-o", "a", "--quiet"}
      ),
      plain
  );
  EXPECT_EQ(
      evidence(
          {"x", "--in", "a", "--loud", "--part", "a", "--part", "b", "--weight", "1.0", "--seed",
           "3"}
      ),
      "option count=7;option seed=3;option share=0.25;option weight=1;option part=a b;"
      "option in=given;option shade=pale;option length=ab;option loud=given;"
  );
  EXPECT_EQ(evidence({"--help", "--count", "x"}), "option help=given;");
}

TEST(OptionTable, KnowsWhetherThereIsAnOutput) {
  Fields fields;
  OptionTable table = table_of(fields);
  EXPECT_FALSE(table.writes_output());
  parse_options(table, {"x", "--out", "y"});
  EXPECT_TRUE(table.writes_output());
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
  EXPECT_EQ(parse({"100%", "--whole", "%value%"}).whole, "%value%");
  EXPECT_EQ(parse({"100%value%"}).folder, "100%value%");
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
  EXPECT_EQ(parse({"x", "--config", path}).whole, "%invalid_line%");
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
  Fields fields = parse({"x", "--config", path, "--count", "4"});
  EXPECT_EQ(fields.count, 4);
  EXPECT_EQ(fields.weight, 0.5);
  EXPECT_EQ(fields.parts, (Arguments{"a", "b"}));
  fields = parse({"x", "--config", path, "--part", "c"});
  EXPECT_EQ(fields.parts, Arguments{"c"});
  // What the file says against an option of the command line is dropped, not contradicted.
  fields = parse({"x", "--config", path, "--whole", "all"});
  EXPECT_TRUE(fields.parts.empty());
  EXPECT_EQ(fields.whole, "all");
}

TEST(OptionTable, FlagsOfAFileAreTrueOrFalse) {
  const TempFolder folder;
  const std::string path = folder.file("a.cfg");
  write_file(path, "quiet = true\n");
  EXPECT_TRUE(parse({"x", "--config", path}).common.quiet);
  EXPECT_FALSE(parse({"x", "--config", path, "--verbose"}).common.quiet);
  write_file(path, "quiet = false\nverbose = true\n");
  EXPECT_FALSE(parse({"x", "--config", path}).common.quiet);
  EXPECT_TRUE(parse({"x", "--config", path}).common.verbose);
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
  EXPECT_TRUE(parse({"--help"}).common.help);
  EXPECT_TRUE(parse({"--version", "--count", "x"}).common.version);
  Fields fields;
  const std::string help = help_text(table_of(fields));
  EXPECT_NE(help.find("usage: routepack test FOLDER [options]"), std::string::npos) << help;
  EXPECT_NE(help.find("a count (default 7; -5 to 100)"), std::string::npos) << help;
  EXPECT_NE(help.find("a weight (at least 0)"), std::string::npos) << help;
  EXPECT_NE(help.find("a part (may be repeated)"), std::string::npos) << help;
  EXPECT_NE(help.find("--config FILE"), std::string::npos) << help;
}

}  // namespace
}  // namespace routepack::cli
