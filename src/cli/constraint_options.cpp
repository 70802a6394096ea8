#include "cli/constraint_options.hpp"

#include <fmt/ranges.h>

#include <string_view>

#include "base/check.hpp"

namespace routepack::cli {
namespace {

template <class T>
struct Choice {
  std::string_view word;
  T value;
};

constexpr Choice<SamplesPerSlot> kSamplesPerSlot[] = {
    {"any", SamplesPerSlot::kAny}, {"equal", SamplesPerSlot::kEqual}};
constexpr Choice<Oversize> kOversize[] = {
    {"error", Oversize::kError}, {"own-row", Oversize::kOwnRow}};
constexpr Choice<PadRoutes> kPadRoutes[] = {
    {"none", PadRoutes::kNone}, {"spread", PadRoutes::kSpread}};
constexpr Choice<PlacementChoice> kPlacement[] = {
    {"free", PlacementChoice::kFree},
    {"current", PlacementChoice::kCurrent},
    {"identity", PlacementChoice::kIdentity}};

template <class T, std::size_t kSize>
std::string words_of(const Choice<T> (&choices)[kSize]) {
  std::string words;
  for (const Choice<T>& choice : choices) {
    words += fmt::format("{}{}", words.empty() ? "" : "|", choice.word);
  }
  return words;
}

template <class T, std::size_t kSize>
Option choice_option(const char* name, const Choice<T> (&choices)[kSize], const char* help) {
  return {
      .name = name,
      .value_name = words_of(choices),
      .help = help,
      .default_value = std::string(choices[0].word)};
}

template <class T, std::size_t kSize>
T chosen(const OptionValues& values, const char* name, const Choice<T> (&choices)[kSize]) {
  const std::string& word = values.text(name);
  for (const Choice<T>& choice : choices) {
    if (choice.word == word) {
      return choice.value;
    }
  }
  fail(ErrorCode::kUsage, "--{} is '{}', expected {}", name, word, words_of(choices));
}

}  // namespace

std::vector<Option> constraint_options() {
  return {
      choice_option(
          "samples-per-slot", kSamplesPerSlot,
          "equal: every DP slot has as many samples as any other"
      ),
      choice_option(
          "oversize", kOversize,
          "a sample over the capacity is an error, or alone in its cell (own-row)"
      ),
      {.name = "max-samples-per-cell",
       .kind = OptionKind::kInteger,
       .value_name = "N",
       .help = "at most so many samples in a cell; no limit where not given",
       .min = 1,
       .max = 1 << 30},
      {.name = "cell-pad-multiple",
       .kind = OptionKind::kInteger,
       .value_name = "M",
       .help = "a cell's tokens are filled up to a multiple of this, which divides the capacity",
       .default_value = "1",
       .min = 1,
       .max = 1 << 30},
      choice_option(
          "pad-routes", kPadRoutes,
          "spread: the tokens that fill a cell are routed too, evenly over the EP ranks"
      ),
      choice_option(
          "placement", kPlacement,
          "current, identity: experts do not move, only samples are laid out"
      ),
  };
}

Constraints constraints_of(const OptionValues& values) {
  return {
      .samples_per_slot = chosen(values, "samples-per-slot", kSamplesPerSlot),
      .oversize = chosen(values, "oversize", kOversize),
      .max_samples_per_cell = values.has("max-samples-per-cell")
                                  ? static_cast<int>(values.integer("max-samples-per-cell"))
                                  : 0,
      .cell_pad_multiple = values.integer("cell-pad-multiple"),
      .pad_routes = chosen(values, "pad-routes", kPadRoutes),
      .placement = chosen(values, "placement", kPlacement)};
}

}  // namespace routepack::cli
