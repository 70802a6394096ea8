#include "synth/samples.hpp"

#include <algorithm>
#include <cmath>

#include "synth/apportion.hpp"
#include "synth/draws.hpp"

namespace routepack::synth {
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
  const random::Stream of_prompt = source.stream(prompt);
  const random::Stream of_sample = source.stream(sample);
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

constexpr int kCountBits = 20;  // fixed point of counts before rounding

// Systematic sampling: the rates, laid end to end in random order, form [0, k); a token with draw u
// in [0, 1) picks the experts that contain u, u+1, …, u+k-1. No rate exceeds 1, so they differ.
class TokenSampler {
 public:
  TokenSampler(
      const std::vector<std::int64_t>& rates, const random::Stream& stream, std::uint32_t step
  )
      : order_(random::random_permutation(stream, step, static_cast<std::int32_t>(rates.size()))) {
    std::int64_t end = 0;
    for (const std::int32_t expert : order_) {
      end += rates[static_cast<std::size_t>(expert)];
      ends_.push_back(end);
    }
  }

  void write(std::uint32_t draw, int top_k, std::uint16_t* ids) const {
    for (int pick = 0; pick < top_k; ++pick) {
      const std::int64_t at = (std::int64_t{pick} << RoutingModel::kRateBits) + draw;
      const auto found = std::upper_bound(ends_.begin(), ends_.end(), at);
      ids[pick] =
          static_cast<std::uint16_t>(order_[static_cast<std::size_t>(found - ends_.begin())]);
    }
  }

 private:
  std::vector<std::int32_t> order_;
  std::vector<std::int64_t> ends_;  // cumulated rates, in that order
};

}  // namespace

std::vector<SampleTokens> draw_lengths(const SynthOptions& options) {
  std::vector<SampleTokens> lengths;
  lengths.reserve(static_cast<std::size_t>(options.samples()));
  for (std::int64_t sample = 0; sample < options.samples(); ++sample) {
    lengths.push_back(draw_sample(options, sample));
  }
  return lengths;
}

SampleRouting::SampleRouting(const SynthOptions& options)
    : options_(options), moe_layers_(options.model.moe_layers()), model_(options) {}

std::array<SampleRouting::Part, 2> SampleRouting::parts_of(
    std::int64_t sample, const SampleTokens& tokens
) const {
  const std::int64_t prompt = options_.prompt_of(sample);
  const DrawSource source{options_.seed};
  return {
      Part{
          tokens.prompt, model_.prompt_latent(prompt), source.stream(prompt), Draw::kPromptTokens,
          Draw::kPromptLayer},
      Part{
          tokens.response, model_.sample_latent(sample), source.stream(sample), Draw::kSampleTokens,
          Draw::kSampleLayer},
  };
}

// A count has mean p*T and variance design_effect * p*T * (1-p), as lognormal as that makes it (so
// it is positive at any mean), before the counts are scaled to their exact sum.
std::vector<std::int64_t> SampleRouting::draw_counts(const Part& part, int layer) const {
  const std::vector<std::int64_t> rates = model_.rates(part.latent, layer);
  const std::uint32_t step = DrawSource::step(part.token_draw, layer);
  std::vector<double> weights(rates.size(), 0.0);
  for (std::size_t expert = 0; expert < rates.size(); ++expert) {
    const double rate = std::ldexp(static_cast<double>(rates[expert]), -RoutingModel::kRateBits);
    const double mean = rate * static_cast<double>(part.tokens);
    if (mean > 0.0) {
      const double variance = portable_log(1.0 + options_.design_effect * (1.0 - rate) / mean);
      const double deviation =
          std::sqrt(variance) * draw_normal(part.stream, step, expert) - variance / 2;
      weights[expert] = mean * portable_exp(deviation);
    }
  }
  const std::int64_t cap = part.tokens << kCountBits;
  const std::vector<std::int64_t> shares = apportion(weights, options_.model.top_k * cap, cap);
  const random::RandomBits offset = part.stream.at(DrawSource::step(part.layer_draw, layer), 0);
  return round_systematically(shares, kCountBits, offset.below(0, 1U << kCountBits));
}

std::vector<std::uint32_t> SampleRouting::counts(std::int64_t sample, const SampleTokens& tokens)
    const {
  const auto experts = static_cast<std::size_t>(options_.model.experts);
  std::vector<std::uint32_t> demand(moe_layers_.size() * experts, 0);
  for (const Part& part : parts_of(sample, tokens)) {
    for (std::size_t layer = 0; layer < moe_layers_.size(); ++layer) {
      const std::vector<std::int64_t> drawn = draw_counts(part, static_cast<int>(layer));
      for (std::size_t expert = 0; expert < experts; ++expert) {
        demand[layer * experts + expert] += static_cast<std::uint32_t>(drawn[expert]);
      }
    }
  }
  return demand;
}

std::vector<std::uint16_t> SampleRouting::routes(std::int64_t sample, const SampleTokens& tokens)
    const {
  const std::int64_t rows = tokens.total() - (options_.last_route ? 0 : 1);
  const int top_k = options_.model.top_k;
  const std::size_t axis =
      options_.all_layers ? static_cast<std::size_t>(options_.model.layers) : moe_layers_.size();
  const std::size_t row_ids = axis * static_cast<std::size_t>(top_k);
  std::vector<std::uint16_t> ids(static_cast<std::size_t>(rows) * row_ids, 0);
  std::int64_t first = 0;
  for (const Part& part : parts_of(sample, tokens)) {
    const std::int64_t end = std::min(first + part.tokens, rows);
    for (std::size_t layer = 0; layer < moe_layers_.size(); ++layer) {
      const int number = static_cast<int>(layer);
      const TokenSampler sampler{
          model_.rates(part.latent, number), part.stream,
          DrawSource::step(part.layer_draw, number)};
      const std::uint32_t step = DrawSource::step(part.token_draw, number);
      const std::size_t place =
          options_.all_layers ? static_cast<std::size_t>(moe_layers_[layer]) : layer;
      for (std::int64_t token = first; token < end; ++token) {
        const std::size_t at =
            static_cast<std::size_t>(token) * row_ids + place * static_cast<std::size_t>(top_k);
        const random::RandomBits draw =
            part.stream.at(step, static_cast<std::uint64_t>(token - first));
        sampler.write(draw.word(0), top_k, &ids[at]);
      }
    }
    first = end;
  }
  return ids;
}

}  // namespace routepack::synth
