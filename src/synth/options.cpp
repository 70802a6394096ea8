#include "synth/options.hpp"

#include <fmt/ranges.h>

#include <charconv>
#include <cmath>

#include "base/check.hpp"

namespace routepack::synth {
namespace {

struct NamedPattern {
  Pattern pattern;
  std::string_view name;
};
constexpr NamedPattern kPatterns[] = {
    {Pattern::kNone, "none"},
    {Pattern::kBalanced, "balanced"},
    {Pattern::kHotExperts, "hot-experts"},
    {Pattern::kHotRank, "hot-rank"},
    {Pattern::kSpreadHot, "spread-hot"},
    {Pattern::kRaggedSource, "ragged-source"},
    {Pattern::kZeroLoadRank, "zero-load-rank"},
    {Pattern::kRotatingHotspot, "rotating-hotspot"},
    {Pattern::kBurst, "burst"},
};

void check_between(const char* option, double value, double low, double high) {
  RP_CHECK(
      value >= low && value <= high, ErrorCode::kNumberOutOfRange,
      "--{} is {}, allowed are {} to {}", option, value, low, high
  );
}

void check_sizes(const SynthOptions& options) {
  constexpr double kMaxCount = 1 << 23U;  // owner of a random stream: 24 bits
  check_between("prompts", static_cast<double>(options.num_prompts), 1, kMaxCount);
  check_between("rollouts", static_cast<double>(options.rollouts), 1, kMaxCount);
  check_between("samples", static_cast<double>(options.samples()), 1, kMaxCount);
  const std::int64_t most = options.num_prompts * options.rollouts;
  RP_CHECK(
      options.samples() <= most && options.samples() > most - options.rollouts, ErrorCode::kUsage,
      "--samples {} does not fit --prompts {} with --rollouts {} each", options.samples(),
      options.num_prompts, options.rollouts
  );
  constexpr double kMaxTokens = 1 << 24U;
  check_between("length-max", static_cast<double>(options.length_max), 2, kMaxTokens);
  check_between("length-median", options.length_median, 1, kMaxTokens);
  check_between("prompt-median", options.prompt_median, 1, kMaxTokens);
  check_between("length-between", options.length_between, 0, 5);
  check_between("length-within", options.length_within, 0, 5);
  check_between("capped-share", options.capped_share, 0, 1);
}

void check_routing(const SynthOptions& options) {
  check_between("spread", options.spread, 0, 5);
  check_between("share-prompt", options.share_prompt, 0, 1);
  check_between("design-effect", options.design_effect, 0, 100);
  check_between("heat", options.heat, 1, 1e6);
  check_between("drift", options.drift, 0, 5);
  constexpr double kMaxWalk = 10'000;  // every step of the walk is drawn
  check_between("step", static_cast<double>(options.step), 0, options.drift > 0 ? kMaxWalk : 1e9);
  check_between("pattern-ep", options.pattern_ep, 1, options.model.experts);
  constexpr double kMaxLayers = 1 << 16U;  // layer field of a random stream's step
  check_between("layers of the model", options.model.layers, 1, kMaxLayers - 1);
  check_between("experts of the model", options.model.experts, 1, kMaxLayers);
  RP_CHECK(
      !options.model.moe_layers().empty(), ErrorCode::kUsage, "preset {} has no MoE layers",
      options.model.name
  );
  if (options.pattern != Pattern::kNone) {
    const int ep = options.pattern_ep;
    RP_CHECK(
        options.model.experts % ep == 0, ErrorCode::kExpertsNotDivisible,
        "{} experts are no multiple of --pattern-ep {}", options.model.experts, ep
    );
    RP_CHECK(
        options.pattern != Pattern::kZeroLoadRank ||
            options.model.experts - options.model.experts / ep >= options.model.top_k,
        ErrorCode::kUsage, "--pattern-ep {} leaves fewer than the {} experts that a token needs",
        ep, options.model.top_k
    );
  }
}

std::string text_of(const Popularity& popularity) {
  switch (popularity.kind) {
    case Popularity::Kind::kLognormal:
      return fmt::format("lognormal:{}", popularity.parameter);
    case Popularity::Kind::kZipf:
      return fmt::format("zipf:{}", popularity.parameter);
    case Popularity::Kind::kFlat:
      return "flat";
  }
  return "";
}

}  // namespace

Popularity parse_popularity(const std::string& text) {
  if (text == "flat") {
    return {Popularity::Kind::kFlat, 0.0};
  }
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  Popularity popularity;
  popularity.kind = kind == "zipf" ? Popularity::Kind::kZipf : Popularity::Kind::kLognormal;
  const char* begin = text.data() + (colon == std::string::npos ? text.size() : colon + 1);
  const char* end = text.data() + text.size();
  const std::from_chars_result parsed = std::from_chars(begin, end, popularity.parameter);
  constexpr double kMaxParameter = 5.0;
  RP_CHECK(
      (kind == "zipf" || kind == "lognormal") && parsed.ec == std::errc{} && parsed.ptr == end &&
          popularity.parameter >= 0.0 && popularity.parameter <= kMaxParameter,
      ErrorCode::kUsage,
      "popularity is {}, it must be flat, lognormal:SIGMA or zipf:EXPONENT, with 0 to {}", text,
      kMaxParameter
  );
  return popularity;
}

Pattern parse_pattern(const std::string& word) {
  for (const NamedPattern& named : kPatterns) {
    if (named.name == word) {
      return named.pattern;
    }
  }
  base::fail(
      ErrorCode::kUsage, "pattern {} is unknown, there are: {}", word,
      fmt::join(pattern_names(), ", ")
  );
}

std::string_view name_of(Pattern pattern) {
  for (const NamedPattern& named : kPatterns) {
    if (named.pattern == pattern) {
      return named.name;
    }
  }
  return "";
}

std::vector<std::string> pattern_names() {
  std::vector<std::string> names;
  for (const NamedPattern& named : kPatterns) {
    names.emplace_back(named.name);
  }
  return names;
}

void validate_synth(const SynthOptions& options) {
  check_sizes(options);
  check_routing(options);
}

std::string describe(const SynthOptions& options) {
  std::string text = fmt::format(
      "synthetic: preset {} seed {} prompts {} rollouts {} samples {} length-median {} "
      "length-between {} length-within {} length-max {} prompt-median {} capped-share {} spread {} "
      "share-prompt {} design-effect {} pattern {}",
      options.model.name, options.seed, options.num_prompts, options.rollouts, options.samples(),
      options.length_median, options.length_between, options.length_within, options.length_max,
      options.prompt_median, options.capped_share, options.spread, options.share_prompt,
      options.design_effect, name_of(options.pattern)
  );
  if (options.popularity) {
    text += " popularity " + text_of(*options.popularity);
  }
  if (options.model_seed) {
    text += fmt::format(" model-seed {}", *options.model_seed);
  }
  if (options.drift > 0.0) {
    text += fmt::format(" drift {}", options.drift);
  }
  if (options.pattern != Pattern::kNone) {
    text += fmt::format(" pattern-ep {} heat {}", options.pattern_ep, options.heat);
  }
  if (options.pattern != Pattern::kNone || options.drift > 0.0) {
    text += fmt::format(" step {}", options.step);
  }
  return text;
}

}  // namespace routepack::synth
