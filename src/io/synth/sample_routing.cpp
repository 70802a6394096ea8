#include "io/synth/sample_routing.hpp"

#include <algorithm>
#include <cmath>

#include "io/synth/apportion.hpp"
#include "io/synth/draws.hpp"
#include "io/synth/portable_math.hpp"

namespace routepack {
namespace {

constexpr int kCountBits = 20;  // fixed point of counts before rounding

// Systematic sampling: the rates, laid end to end in random order, form [0, k); a token with draw u
// in [0, 1) picks the experts that contain u, u+1, …, u+k-1. No rate exceeds 1, so they differ.
class TokenSampler {
 public:
  TokenSampler(const std::vector<std::int64_t>& rates, const Stream& stream, std::uint32_t step)
      : order_(random_permutation(stream, step, static_cast<std::int32_t>(rates.size()))) {
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
      ids[pick] = static_cast<std::uint16_t>(order_[static_cast<std::size_t>(found - ends_.begin())]);
    }
  }

 private:
  std::vector<std::int32_t> order_;
  std::vector<std::int64_t> ends_;  // cumulated rates, in that order
};

}  // namespace

SampleRouting::SampleRouting(const SynthOptions& options)
    : options_(options),
      num_moe_layers_(static_cast<int>(options.model.moe_layers().size())),
      model_(options) {}

// A count has mean p*T and variance design_effect * p*T * (1-p), as lognormal as that makes it (so
// it is positive at any mean), before the counts are scaled to their exact sum.
std::vector<std::int64_t> SampleRouting::draw_counts(
    const std::vector<std::int64_t>& rates,
    std::int64_t tokens,
    const Stream& stream,
    std::uint32_t token_step,
    std::uint32_t rounding_step
) const {
  std::vector<double> weights(rates.size(), 0.0);
  for (std::size_t expert = 0; expert < rates.size(); ++expert) {
    const double rate = std::ldexp(static_cast<double>(rates[expert]), -RoutingModel::kRateBits);
    const double mean = rate * static_cast<double>(tokens);
    if (mean > 0.0) {
      const double variance = portable_log(1.0 + options_.design_effect * (1.0 - rate) / mean);
      const double deviation =
          std::sqrt(variance) * draw_normal(stream, token_step, expert) - variance / 2;
      weights[expert] = mean * portable_exp(deviation);
    }
  }
  const std::int64_t cap = tokens << kCountBits;
  const std::vector<std::int64_t> shares = apportion(weights, options_.model.top_k * cap, cap);
  const std::int64_t offset = stream.at(rounding_step, 0).below(0, 1U << kCountBits);
  return round_systematically(shares, kCountBits, offset);
}

std::vector<std::uint32_t> SampleRouting::counts(
    std::int64_t sample, const SampleTokens& tokens
) const {
  const std::int64_t prompt = options_.prompt_of(sample);
  const DrawSource source{options_.seed};
  const RoutingModel::Latent prompt_latent = model_.prompt_latent(prompt);
  const RoutingModel::Latent sample_latent = model_.sample_latent(sample);
  std::vector<std::uint32_t> demand;
  demand.reserve(static_cast<std::size_t>(num_moe_layers_ * options_.model.experts));
  for (int layer = 0; layer < num_moe_layers_; ++layer) {
    const std::vector<std::int64_t> of_prompt = draw_counts(
        model_.rates(prompt_latent, layer), tokens.prompt, source.stream(prompt),
        DrawSource::step(Draw::kPromptTokens, layer),
        DrawSource::step(Draw::kPromptRounding, layer)
    );
    const std::vector<std::int64_t> of_response = draw_counts(
        model_.rates(sample_latent, layer), tokens.response, source.stream(sample),
        DrawSource::step(Draw::kSampleTokens, layer),
        DrawSource::step(Draw::kSampleRounding, layer)
    );
    for (std::size_t expert = 0; expert < of_prompt.size(); ++expert) {
      demand.push_back(static_cast<std::uint32_t>(of_prompt[expert] + of_response[expert]));
    }
  }
  return demand;
}

std::vector<std::uint16_t> SampleRouting::routes(
    std::int64_t sample, const SampleTokens& tokens
) const {
  const std::int64_t prompt = options_.prompt_of(sample);
  const DrawSource source{options_.seed};
  const Stream of_prompt = source.stream(prompt);
  const Stream of_sample = source.stream(sample);
  const RoutingModel::Latent prompt_latent = model_.prompt_latent(prompt);
  const RoutingModel::Latent sample_latent = model_.sample_latent(sample);
  const std::int64_t rows = tokens.total() - (options_.last_route ? 0 : 1);
  const int top_k = options_.model.top_k;
  const std::vector<int> moe_layers = options_.model.moe_layers();
  const int axis = options_.all_layers ? options_.model.layers : num_moe_layers_;
  const std::size_t row_ids = static_cast<std::size_t>(axis) * static_cast<std::size_t>(top_k);
  std::vector<std::uint16_t> ids(static_cast<std::size_t>(rows) * row_ids, 0);
  for (int layer = 0; layer < num_moe_layers_; ++layer) {
    const std::uint32_t prompt_step = DrawSource::step(Draw::kPromptTokens, layer);
    const std::uint32_t sample_step = DrawSource::step(Draw::kSampleTokens, layer);
    const TokenSampler prompt_sampler{
        model_.rates(prompt_latent, layer), of_prompt,
        DrawSource::step(Draw::kPromptRounding, layer)};
    const TokenSampler response_sampler{
        model_.rates(sample_latent, layer), of_sample,
        DrawSource::step(Draw::kSampleRounding, layer)};
    const int place = options_.all_layers ? moe_layers[static_cast<std::size_t>(layer)] : layer;
    std::uint16_t* target =
        ids.data() + static_cast<std::size_t>(place) * static_cast<std::size_t>(top_k);
    for (std::int64_t token = 0; token < rows; ++token, target += row_ids) {
      const auto index = static_cast<std::uint64_t>(token);
      if (token < tokens.prompt) {
        prompt_sampler.write(of_prompt.at(prompt_step, index).word(0), top_k, target);
      } else {
        response_sampler.write(of_sample.at(sample_step, index).word(0), top_k, target);
      }
    }
  }
  return ids;
}

}  // namespace routepack
