#include "synth/lengths.hpp"

#include <algorithm>
#include <cmath>

#include "synth/draws.hpp"
#include "synth/portable_math.hpp"

namespace routepack {
namespace {

constexpr double kPromptSpread = 0.5;  // standard deviation of the log of prompt tokens

std::int64_t lognormal_tokens(double median, double log_deviation, std::int64_t most) {
  constexpr double kMaxExponent = 100.0;
  const double tokens = std::floor(
      median * portable_exp(std::clamp(log_deviation, -kMaxExponent, kMaxExponent)) + 0.5
  );
  return static_cast<std::int64_t>(std::clamp(tokens, 1.0, static_cast<double>(most)));
}

SampleTokens draw_sample(const SynthOptions& options, std::int64_t sample) {
  const DrawSource source{options.seed};
  const std::int64_t prompt = options.prompt_of(sample);
  const Stream of_prompt = source.stream(prompt);
  const Stream of_sample = source.stream(sample);
  const std::uint32_t prompt_step = DrawSource::step(Draw::kPromptLength);
  SampleTokens tokens;
  tokens.prompt = lognormal_tokens(
      options.prompt_median, kPromptSpread * draw_normal(of_prompt, prompt_step, 0),
      options.length_max / 2
  );
  const double deviation =
      options.length_between * draw_normal(of_prompt, prompt_step, 1) +
      options.length_within * draw_normal(of_sample, DrawSource::step(Draw::kSampleLength), 0);
  const bool ragged = options.pattern == Pattern::kRaggedSource && prompt % 4 == 0;
  const std::int64_t most = options.length_max - tokens.prompt;
  tokens.response =
      lognormal_tokens(options.length_median * (ragged ? options.heat : 1.0), deviation, most);
  if (of_sample.at(DrawSource::step(Draw::kCapped), 0).unit(0) < options.capped_share) {
    tokens.response = most;
  }
  return tokens;
}

}  // namespace

std::vector<SampleTokens> draw_lengths(const SynthOptions& options) {
  std::vector<SampleTokens> lengths;
  lengths.reserve(static_cast<std::size_t>(options.samples()));
  for (std::int64_t sample = 0; sample < options.samples(); ++sample) {
    lengths.push_back(draw_sample(options, sample));
  }
  return lengths;
}

}  // namespace routepack
