// Every input of the corpus, through its target, with whatever compiler there is.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "fuzz/targets.hpp"
#include "support/temp_folder.hpp"

namespace routepack::fuzz {
namespace {

Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

class Corpus : public ::testing::TestWithParam<Target> {};

TEST_P(Corpus, BringsNoSurprise) {
  const Target& target = GetParam();
  const std::filesystem::path folder = std::filesystem::path(ROUTEPACK_FUZZ_CORPUS) / target.name;
  std::vector<std::filesystem::path> inputs;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    inputs.push_back(entry.path());
  }
  std::ranges::sort(inputs);
  EXPECT_GE(inputs.size(), 3U) << folder;
  for (const std::filesystem::path& input : inputs) {
    const std::string text = testing::read_file(input);
    EXPECT_NO_THROW(target.run(bytes_of(text))) << input;
    // What is cut off in the middle, as by a full disk.
    EXPECT_NO_THROW(target.run(bytes_of(text).first(text.size() / 2))) << input;
  }
  EXPECT_NO_THROW(target.run({}));
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, ::testing::ValuesIn(kTargets), [](const auto& target) {
  return std::string(target.param.name);
});

TEST(SplitFiles, EndsEachButTheLastByTheSeparator) {
  const auto split = [](const std::string& text) { return split_files(bytes_of(text)); };
  EXPECT_EQ(split(""), (std::vector<std::string>{""}));
  EXPECT_EQ(split("a\n%%%\n\n%%%\nb\n"), (std::vector<std::string>{"a", "", "b\n"}));
}

TEST(OutcomeOf, TellsErrorsFromSurprises) {
  const auto failing = outcome_of([]() -> int { throw Error(ErrorCode::kUsage, "wrong"); });
  EXPECT_EQ(failing.error, "USAGE wrong");
  EXPECT_FALSE(failing.value);
  EXPECT_EQ(outcome_of([] { return 3; }).value, 3);
  EXPECT_THROW((void)outcome_of([]() -> int { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_THROW(expect(false, "so"), Surprise);
}

}  // namespace
}  // namespace routepack::fuzz
