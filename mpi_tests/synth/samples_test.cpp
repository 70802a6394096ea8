#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "routepack/error.hpp"
#include "synth/samples.hpp"

namespace routepack::synth {
namespace {

// 16 experts, 3 per token, 5 MoE layers after a dense one.
SynthOptions small_options() {
  SynthOptions options;
  options.model = {
      .name = "small",
      .layers = 6,
      .dense_layers = 1,
      .dense_ffn = 7,
      .hidden = 10,
      .experts = 16,
      .top_k = 3,
      .expert_ffn = 5,
      .context_tokens = 4096,
      .shapes = {{.heads = 2, .kv_heads = 1, .qk_dim = 3, .v_dim = 3}},
      .shape_of_layer = std::vector<int>(6, 0)};
  options.num_prompts = 12;
  options.rollouts = 4;
  options.length_median = 300.0;
  options.length_max = 2000;
  options.pattern_ep = 4;
  return options;
}

constexpr std::size_t kExperts = 16;
constexpr std::size_t kLayers = 5;
constexpr int kTopK = 3;

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0.0;
  double aa = 0.0;
  double bb = 0.0;
  for (std::size_t at = 0; at < a.size(); ++at) {
    ab += (a[at] - mean_a) * (b[at] - mean_b);
    aa += (a[at] - mean_a) * (a[at] - mean_a);
    bb += (b[at] - mean_b) * (b[at] - mean_b);
  }
  return ab / std::sqrt(aa * bb);
}

// Share of every expert in all routed pairs of a layer, times E: 1 is the mean.
std::vector<double> heat_of_layer(const SynthOptions& options, std::size_t layer) {
  const SampleRouting routing(options);
  const std::vector<SampleTokens> lengths = draw_lengths(options);
  std::vector<double> heat(kExperts, 0.0);
  double pairs = 0.0;
  for (std::size_t sample = 0; sample < lengths.size(); ++sample) {
    const std::vector<std::uint32_t> counts =
        routing.counts(static_cast<std::int64_t>(sample), lengths[sample]);
    for (std::size_t expert = 0; expert < kExperts; ++expert) {
      heat[expert] += counts[layer * kExperts + expert];
      pairs += counts[layer * kExperts + expert];
    }
  }
  for (double& value : heat) {
    value *= static_cast<double>(kExperts) / pairs;
  }
  return heat;
}

TEST(SampleLengths, SharePromptsAndKeepTheCap) {
  SynthOptions options = small_options();
  options.num_prompts = 400;
  options.capped_share = 0.1;
  options.length_within = 0.2;
  options.length_between = 0.6;
  const std::vector<SampleTokens> lengths = draw_lengths(options);
  ASSERT_EQ(lengths.size(), 1600U);
  int capped = 0;
  std::vector<double> first;
  std::vector<double> second;
  std::vector<double> logs;
  for (std::size_t sample = 0; sample < lengths.size(); ++sample) {
    const SampleTokens& tokens = lengths[sample];
    EXPECT_GE(tokens.response, 1);
    EXPECT_LE(tokens.total(), options.length_max);
    EXPECT_EQ(tokens.prompt, lengths[sample / 4 * 4].prompt);
    capped += tokens.total() == options.length_max ? 1 : 0;
    logs.push_back(std::log(static_cast<double>(tokens.response)));
    if (sample % 4 < 2) {
      (sample % 4 == 0 ? first : second).push_back(logs.back());
    }
  }
  EXPECT_NEAR(capped / 1600.0, 0.1, 0.03);
  std::ranges::sort(logs);
  EXPECT_NEAR(std::exp(logs[800]), options.length_median * 1.06, 40.0);  // median, capped ones in
  EXPECT_GT(correlation(first, second), 0.4);  // 0.9 but for the capped ones
}

TEST(SampleRouting, CountsAddUpAndStayBelowTheTokens) {
  for (const double effect : {0.0, 0.8, 20.0}) {
    SynthOptions options = small_options();
    options.design_effect = effect;
    const SampleRouting routing(options);
    for (const SampleTokens tokens :
         {SampleTokens{1, 1}, SampleTokens{7, 2}, SampleTokens{90, 800}}) {
      const std::vector<std::uint32_t> counts = routing.counts(3, tokens);
      ASSERT_EQ(counts.size(), kLayers * kExperts);
      for (std::size_t layer = 0; layer < kLayers; ++layer) {
        const auto begin = counts.begin() + static_cast<std::ptrdiff_t>(layer * kExperts);
        const auto end = begin + static_cast<std::ptrdiff_t>(kExperts);
        EXPECT_EQ(std::accumulate(begin, end, 0LL), kTopK * tokens.total());
        EXPECT_LE(*std::max_element(begin, end), tokens.total());
      }
    }
  }
}

TEST(SampleRouting, EqualModelSeedsGiveNewSamplesOfOnePopularity) {
  SynthOptions options = small_options();
  options.num_prompts = 100;
  options.model_seed = 5;
  const std::vector<double> heat = heat_of_layer(options, 2);
  options.seed = 2;
  const std::vector<double> other_samples = heat_of_layer(options, 2);
  EXPECT_NE(heat, other_samples);
  EXPECT_GT(correlation(heat, other_samples), 0.98);
  options.model_seed = 6;
  EXPECT_LT(correlation(heat, heat_of_layer(options, 2)), 0.8);
}

TEST(SampleRouting, DriftIsARandomWalkOfLogPopularity) {
  SynthOptions options = small_options();
  options.popularity = Popularity{Popularity::Kind::kFlat, 0.0};
  options.spread = 0.0;
  options.drift = 0.2;
  const auto change = [&](std::int64_t from, std::int64_t to) {
    double squares = 0.0;
    for (int layer = 0; layer < static_cast<int>(kLayers); ++layer) {
      const auto logs = [&](std::int64_t step) {
        options.step = step;
        std::vector<double> values;
        for (const std::int64_t rate : RoutingModel(options).rates({}, layer)) {
          values.push_back(std::log(static_cast<double>(rate)));
        }
        return values;
      };
      const std::vector<double> before = logs(from);
      const std::vector<double> after = logs(to);
      std::vector<double> moved;
      std::ranges::transform(after, before, std::back_inserter(moved), std::minus<>());
      // Only ratios count: rates are scaled to a common sum.
      const double mean = std::accumulate(moved.begin(), moved.end(), 0.0) / double{kExperts};
      for (const double value : moved) {
        squares += (value - mean) * (value - mean);
      }
    }
    return std::sqrt(squares / static_cast<double>(kLayers * (kExperts - 1)));
  };
  EXPECT_EQ(change(0, 0), 0.0);
  EXPECT_NEAR(change(0, 1), 0.2, 0.05);
  EXPECT_NEAR(change(3, 4), 0.2, 0.05);
  EXPECT_NEAR(change(0, 16), 0.8, 0.2);
}

TEST(SampleRouting, RolloutsOfAPromptResembleEachOtherMoreThanOthers) {
  SynthOptions options = small_options();
  options.num_prompts = 60;
  options.rollouts = 2;
  options.popularity = Popularity{Popularity::Kind::kFlat, 0.0};
  options.spread = 0.5;
  const SampleRouting routing(options);
  const SampleTokens tokens{1, 4000};
  std::vector<double> first;
  std::vector<double> second;
  std::vector<double> stranger;
  for (std::int64_t prompt = 0; prompt < options.num_prompts; ++prompt) {
    const std::vector<std::uint32_t> a = routing.counts(2 * prompt, tokens);
    const std::vector<std::uint32_t> b = routing.counts(2 * prompt + 1, tokens);
    const std::vector<std::uint32_t> c = routing.counts((2 * prompt + 2) % 120, tokens);
    first.insert(first.end(), a.begin(), a.end());
    second.insert(second.end(), b.begin(), b.end());
    stranger.insert(stranger.end(), c.begin(), c.end());
  }
  EXPECT_NEAR(correlation(first, second), options.share_prompt, 0.07);
  EXPECT_NEAR(correlation(first, stranger), 0.0, 0.1);
}

TEST(SampleRouting, SpreadAndDesignEffectAreThoseAskedFor) {
  SynthOptions options = small_options();
  options.num_prompts = 300;
  options.rollouts = 1;
  options.popularity = Popularity{Popularity::Kind::kFlat, 0.0};
  const SampleTokens tokens{1, 8000};
  const auto variation = [&](double spread, double effect) {
    options.spread = spread;
    options.design_effect = effect;
    const SampleRouting routing(options);
    double sum = 0.0;
    double squares = 0.0;
    for (std::int64_t sample = 0; sample < 300; ++sample) {
      const double count = routing.counts(sample, tokens)[0];
      sum += count;
      squares += count * count;
    }
    const double mean = sum / 300;
    return std::sqrt(squares / 300 - mean * mean) / mean;
  };
  // Without spread, counts vary as independent draws do: variance deff * T*p*(1-p), p = 3/16,
  // a little less because they are scaled to an exact sum.
  const double binomial = std::sqrt((1.0 - 3.0 / 16) / (8000 * 3.0 / 16));
  EXPECT_NEAR(variation(0.0, 1.0) / binomial, 0.97, 0.15);
  EXPECT_NEAR(variation(0.0, 9.0) / binomial, 3 * 0.97, 0.45);
  EXPECT_NEAR(variation(0.4, 1.0), 0.4, 0.06);
}

TEST(SampleRouting, PopularityHasTheShapeAskedFor) {
  SynthOptions options = small_options();
  options.popularity = Popularity{Popularity::Kind::kFlat, 0.0};
  options.spread = 0.0;
  for (const double heat : heat_of_layer(options, 2)) {
    EXPECT_NEAR(heat, 1.0, 0.08);
  }
  options.popularity = Popularity{Popularity::Kind::kZipf, 0.5};
  std::vector<double> heat = heat_of_layer(options, 2);
  EXPECT_NE(heat, heat_of_layer(options, 3));
  std::ranges::sort(heat, std::greater<>());
  EXPECT_NEAR(heat[3] / heat[15], 2.0, 0.1);  // ranks 4 and 16: (16/4)^0.5
  options.popularity = Popularity{Popularity::Kind::kLognormal, 0.4};
  double squares = 0.0;
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    for (const double value : heat_of_layer(options, layer)) {
      squares += std::log(value) * std::log(value) / (kLayers * kExperts);
    }
  }
  EXPECT_NEAR(std::sqrt(squares), 0.4, 0.1);
}

TEST(SampleRouting, PatternsHeatTheExpertsTheyName) {
  SynthOptions options = small_options();
  options.spread = 0.0;
  options.heat = 3.0;
  const double hot = 3.0 / 1.5;  // a quarter of the experts at 3, the mean is 1.5
  const double cold = 1.0 / 1.5;
  const auto heats = [&](Pattern pattern, std::int64_t step = 0) {
    options.pattern = pattern;
    options.step = step;
    return heat_of_layer(options, 1);
  };
  const auto expect_hot = [&](const std::vector<double>& heat, const std::set<std::size_t>& who) {
    for (std::size_t expert = 0; expert < kExperts; ++expert) {
      EXPECT_NEAR(heat[expert], who.contains(expert) ? hot : cold, 0.12) << expert;
    }
  };
  expect_hot(heats(Pattern::kHotRank), {0, 1, 2, 3});
  expect_hot(heats(Pattern::kSpreadHot), {0, 4, 8, 12});
  expect_hot(heats(Pattern::kRotatingHotspot, 6), {8, 9, 10, 11});
  expect_hot(heats(Pattern::kBurst, 16), {0, 1, 2, 3});
  for (const double heat : heats(Pattern::kBurst, 17)) {
    EXPECT_NEAR(heat, 1.0, 0.08);
  }
  for (const double heat : heats(Pattern::kBalanced)) {
    EXPECT_NEAR(heat, 1.0, 0.08);
  }
  const std::vector<double> random = heats(Pattern::kHotExperts);
  EXPECT_EQ(std::ranges::count_if(random, [](double heat) { return heat > 1.5; }), 4);
  const std::vector<double> zero = heats(Pattern::kZeroLoadRank);
  for (std::size_t expert = 0; expert < kExperts; ++expert) {
    EXPECT_NEAR(zero[expert], expert < 12 ? 4.0 / 3 : 0.0, 0.1) << expert;
  }
}

TEST(SampleRouting, RaggedSourceLengthensEveryFourthPrompt) {
  SynthOptions options = small_options();
  options.num_prompts = 200;
  options.capped_share = 0.0;
  options.length_max = 1'000'000;
  options.pattern = Pattern::kRaggedSource;
  double ragged = 0.0;
  double others = 0.0;
  std::int64_t sample = 0;
  for (const SampleTokens& tokens : draw_lengths(options)) {
    (options.prompt_of(sample) % 4 == 0 ? ragged : others) += static_cast<double>(tokens.response);
    ++sample;
  }
  EXPECT_NEAR(ragged / (others / 3), options.heat, 0.8);
}

TEST(SampleRouting, RoutesAreDistinctAndFollowTheRates) {
  SynthOptions options = small_options();
  options.form = WindowForm::kRoutes;
  options.all_layers = true;
  const SampleRouting routing(options);
  const SampleTokens tokens{40, 6000};
  const std::vector<std::uint16_t> ids = routing.routes(5, tokens);
  constexpr std::size_t kAxis = kLayers + 1;
  ASSERT_EQ(ids.size(), 6039U * kAxis * kTopK);  // no route for the last token
  std::vector<double> seen(kExperts, 0.0);
  for (std::size_t at = 0; at < ids.size(); at += kTopK) {
    const std::set<std::uint16_t> row(&ids[at], &ids[at] + kTopK);
    if (at / kTopK % kAxis == 0) {
      EXPECT_EQ(row, std::set<std::uint16_t>{0});  // the dense layer
      continue;
    }
    EXPECT_EQ(row.size(), static_cast<std::size_t>(kTopK));
    EXPECT_LT(*row.rbegin(), kExperts);
    if (at / kTopK % kAxis == 3 && at / kTopK / kAxis >= 40) {
      for (const std::uint16_t expert : row) {
        seen[expert] += 1.0;
      }
    }
  }
  const RoutingModel model(options);
  const std::vector<std::int64_t> rates = model.rates(model.sample_latent(5), 2);
  for (std::size_t expert = 0; expert < kExperts; ++expert) {
    const double rate = std::ldexp(static_cast<double>(rates[expert]), -RoutingModel::kRateBits);
    const double five_errors = 5.0 * std::sqrt(rate * (1.0 - rate) / 5999.0) + 1e-9;
    EXPECT_NEAR(seen[expert] / 5999.0, rate, five_errors) << expert;
  }
}

TEST(SampleRouting, RolloutsSharePromptRoutes) {
  SynthOptions options = small_options();
  options.form = WindowForm::kRoutes;
  const SampleRouting routing(options);
  const SampleTokens tokens{25, 30};
  const std::vector<std::uint16_t> a = routing.routes(4, tokens);
  const std::vector<std::uint16_t> b = routing.routes(5, tokens);
  constexpr std::ptrdiff_t kPromptIds = 25 * kLayers * kTopK;
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + kPromptIds, b.begin()));
  EXPECT_FALSE(std::equal(a.begin() + kPromptIds, a.end(), b.begin() + kPromptIds));
}

TEST(SynthOptions, RefuseWhatCannotBe) {
  const auto code_of = [](auto&& change) {
    SynthOptions options = small_options();
    change(options);
    try {
      validate_synth(options);
    } catch (const Error& error) {
      return std::string(name_of(error.code()));
    }
    return std::string("none");
  };
  EXPECT_EQ(code_of([](SynthOptions&) {}), "none");
  EXPECT_EQ(code_of([](SynthOptions& o) { o.num_samples = 46; }), "none");
  EXPECT_EQ(code_of([](SynthOptions& o) { o.num_samples = 40; }), "USAGE");
  EXPECT_EQ(code_of([](SynthOptions& o) { o.num_prompts = 0; }), "NUMBER_OUT_OF_RANGE");
  EXPECT_EQ(code_of([](SynthOptions& o) { o.length_max = 1; }), "NUMBER_OUT_OF_RANGE");
  EXPECT_EQ(code_of([](SynthOptions& o) { o.spread = NAN; }), "NUMBER_OUT_OF_RANGE");
  EXPECT_EQ(code_of([](SynthOptions& o) { o.share_prompt = 1.5; }), "NUMBER_OUT_OF_RANGE");
  const auto with = [](Pattern pattern, int ep) {
    return [=](SynthOptions& o) {
      o.pattern = pattern;
      o.pattern_ep = ep;
    };
  };
  EXPECT_EQ(code_of(with(Pattern::kHotRank, 3)), "EXPERTS_NOT_DIVISIBLE");
  EXPECT_EQ(code_of(with(Pattern::kZeroLoadRank, 1)), "USAGE");
  EXPECT_EQ(parse_pattern("rotating-hotspot"), Pattern::kRotatingHotspot);
  EXPECT_THROW(static_cast<void>(parse_pattern("w9")), Error);
  EXPECT_EQ(parse_popularity("zipf:0.7").parameter, 0.7);
  for (const char* text : {"zipf", "zipf:", "zipf:x", "lognormal:1.1x", "gauss:1", "zipf:-1", ""}) {
    EXPECT_THROW(static_cast<void>(parse_popularity(text)), Error) << text;
  }
}

}  // namespace
}  // namespace routepack::synth
