#include "synth/routing_model.hpp"

#include <algorithm>
#include <cmath>

#include "synth/apportion.hpp"
#include "synth/draws.hpp"

namespace routepack::synth {
namespace {

constexpr std::int64_t kBurstPeriod = 8;

// [E] of one layer, mean about 1.
std::vector<double> base_popularity(
    const Popularity& popularity, int num_experts, int layer, const random::Stream& stream
) {
  const std::uint32_t step = DrawSource::step(Draw::kPopularity, layer);
  std::vector<double> weights(static_cast<std::size_t>(num_experts), 1.0);
  switch (popularity.kind) {
    case Popularity::Kind::kLognormal:
      for (std::size_t expert = 0; expert < weights.size(); ++expert) {
        weights[expert] = portable_exp(popularity.parameter * draw_normal(stream, step, expert));
      }
      break;
    case Popularity::Kind::kZipf: {
      const std::vector<std::int32_t> rank_of =
          random::random_permutation(stream, step, num_experts);
      for (std::size_t expert = 0; expert < weights.size(); ++expert) {
        weights[expert] = portable_exp(-popularity.parameter * portable_log(1.0 + rank_of[expert]));
      }
      break;
    }
    case Popularity::Kind::kFlat:
      break;
  }
  return weights;
}

// The steps of the walk up to options.step, each a factor an expert.
void drift_in_place(
    std::vector<double>& weights,
    const SynthOptions& options,
    int layer,
    const random::Stream& stream
) {
  const std::uint32_t draw = DrawSource::step(Draw::kDrift, layer);
  for (std::size_t expert = 0; expert < weights.size(); ++expert) {
    double walked = 0.0;
    for (std::int64_t step = 0; step < options.step; ++step) {
      walked +=
          draw_normal(stream, draw, static_cast<std::uint64_t>(step) * weights.size() + expert);
    }
    weights[expert] *= portable_exp(options.drift * walked);
  }
}

// Multiplies [begin, end) by `factor`.
void scale_block_in_place(std::vector<double>& weights, int begin, int end, double factor) {
  for (int expert = begin; expert < end; ++expert) {
    weights[static_cast<std::size_t>(expert)] *= factor;
  }
}

void apply_pattern_in_place(
    std::vector<double>& weights,
    const SynthOptions& options,
    int layer,
    const random::Stream& stream
) {
  const int experts = static_cast<int>(weights.size());
  const int ep = options.pattern_ep;
  const int block = experts / ep;
  const auto heat_rank = [&](std::int64_t rank) {
    const int begin = static_cast<int>(rank) * block;
    scale_block_in_place(weights, begin, begin + block, options.heat);
  };
  switch (options.pattern) {
    case Pattern::kNone:
    case Pattern::kBalanced:
    case Pattern::kRaggedSource:
      return;
    case Pattern::kHotExperts: {
      const std::vector<std::int32_t> order =
          random::random_permutation(stream, DrawSource::step(Draw::kHotSet, layer), experts);
      for (int hot = 0; hot < block; ++hot) {
        const int expert = order[static_cast<std::size_t>(hot)];
        scale_block_in_place(weights, expert, expert + 1, options.heat);
      }
      return;
    }
    case Pattern::kHotRank:
      heat_rank(0);
      return;
    case Pattern::kSpreadHot:
      // Expert hot*ep belongs to rank hot*ep/block: the hot ones are dealt evenly.
      for (int hot = 0; hot < block; ++hot) {
        scale_block_in_place(weights, hot * ep, hot * ep + 1, options.heat);
      }
      return;
    case Pattern::kZeroLoadRank:
      scale_block_in_place(weights, experts - block, experts, 0.0);
      return;
    case Pattern::kRotatingHotspot:
      heat_rank(options.step % ep);
      return;
    case Pattern::kBurst:
      if (options.step % kBurstPeriod == 0) {
        heat_rank(0);
      }
      return;
  }
}

RoutingModel::Latent draw_latent(
    const random::Stream& stream, std::uint32_t step, std::uint64_t first
) {
  RoutingModel::Latent latent{};
  for (std::size_t index = 0; index < latent.size(); ++index) {
    latent[index] = draw_normal(stream, step, first + index);
  }
  return latent;
}

RoutingModel::Latent unit(RoutingModel::Latent vector) {
  double square = 0.0;
  for (const double value : vector) {
    square += value * value;
  }
  const double length = std::sqrt(square);
  for (double& value : vector) {
    value = length > 0.0 ? value / length : 0.0;
  }
  return vector;
}

}  // namespace

RoutingModel::RoutingModel(const SynthOptions& options)
    : options_(options),
      num_experts_(static_cast<std::size_t>(options.model.experts)),
      spread_(options.pattern == Pattern::kBalanced ? 0.0 : options.spread) {
  const Popularity flat{Popularity::Kind::kFlat, 0.0};
  const Popularity popularity =
      options.popularity.value_or(options.pattern == Pattern::kNone ? Popularity{} : flat);
  const random::Stream stream = DrawSource{options.model_seed.value_or(options.seed)}.stream(0);
  const int num_layers = static_cast<int>(options.model.moe_layers().size());
  for (int layer = 0; layer < num_layers; ++layer) {
    std::vector<double> weights = base_popularity(popularity, options.model.experts, layer, stream);
    if (options.drift > 0.0) {
      drift_in_place(weights, options, layer, stream);
    }
    apply_pattern_in_place(weights, options, layer, stream);
    popularity_.insert(popularity_.end(), weights.begin(), weights.end());
    const std::uint32_t step = DrawSource::step(Draw::kLoading, layer);
    for (std::size_t expert = 0; expert < num_experts_; ++expert) {
      loadings_.push_back(unit(draw_latent(stream, step, expert * kLatents)));
    }
  }
}

RoutingModel::Latent RoutingModel::prompt_latent(std::int64_t prompt) const {
  Latent latent = draw_latent(
      DrawSource{options_.seed}.stream(prompt), DrawSource::step(Draw::kPromptLatent), 0
  );
  for (double& value : latent) {
    value *= std::sqrt(options_.share_prompt);
  }
  return latent;
}

RoutingModel::Latent RoutingModel::sample_latent(std::int64_t sample) const {
  Latent latent = prompt_latent(options_.prompt_of(sample));
  const Latent own = draw_latent(
      DrawSource{options_.seed}.stream(sample), DrawSource::step(Draw::kSampleLatent), 0
  );
  for (std::size_t index = 0; index < kLatents; ++index) {
    latent[index] += std::sqrt(1.0 - options_.share_prompt) * own[index];
  }
  return latent;
}

std::vector<std::int64_t> RoutingModel::rates(const Latent& latent, int layer) const {
  const std::size_t first = static_cast<std::size_t>(layer) * num_experts_;
  std::vector<double> weights(num_experts_);
  for (std::size_t expert = 0; expert < num_experts_; ++expert) {
    const Latent& loading = loadings_[first + expert];
    double dot = 0.0;
    for (std::size_t index = 0; index < kLatents; ++index) {
      dot += loading[index] * latent[index];
    }
    weights[expert] = popularity_[first + expert] * portable_exp(spread_ * dot);
  }
  constexpr std::int64_t kOne = std::int64_t{1} << kRateBits;
  return apportion(weights, options_.model.top_k * kOne, kOne);
}

}  // namespace routepack::synth
