// What a synthetic window is like. Defaults: one step of reinforcement learning on one kind of
// task, 64 prompts with 8 rollouts each, as in arXiv 2608.12146.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/model.hpp"

namespace routepack::synth {

// How unequal the experts of a layer are before samples differ; new experts at every layer.
struct Popularity {
  enum class Kind { kLognormal, kZipf, kFlat };
  Kind kind = Kind::kLognormal;
  // kLognormal: standard deviation of the log; with 1.1 the loads of EP ranks of 16 experts vary by
  // about 0.3 of their mean (standard deviation). kZipf: exponent s of rank^-s. kFlat: unused.
  double parameter = 1.1;
};

// "lognormal:SIGMA", "zipf:EXPONENT" or "flat". Throws USAGE.
[[nodiscard]] Popularity parse_popularity(const std::string& text);

// Workloads that isolate one cause of imbalance; W0 to W7 are the names of the public
// token-imbalance benchmark of Megatron-LM (pull request 7488). "EP rank p" is the p-th of
// `pattern_ep` equal blocks of expert ids, where the identity placement puts them; "hot" is `heat`
// times as popular.
enum class Pattern {
  kNone,             // popularity and correlation as the options say
  kBalanced,         // W0: equal experts, equal samples
  kHotExperts,       // W1: as many hot experts as a rank holds, random ones at each layer
  kHotRank,          // W2: all experts of EP rank 0 are hot
  kSpreadHot,        // W3: the same number of hot experts, dealt evenly over the ranks
  kRaggedSource,     // W4: the samples of every fourth prompt are `heat` times as long
  kZeroLoadRank,     // W5: the experts of the last EP rank get nothing
  kRotatingHotspot,  // W6: EP rank (step mod pattern_ep) is hot
  kBurst,            // W7: balanced but in every eighth step, 0, 8, …, in which EP rank 0 is hot
};

[[nodiscard]] Pattern parse_pattern(const std::string& word);  // throws USAGE with all the names
[[nodiscard]] std::string_view name_of(Pattern pattern);
[[nodiscard]] std::vector<std::string> pattern_names();

enum class WindowForm { kCounts, kRoutes };

struct SynthOptions {
  domain::ModelPreset model;
  std::uint64_t seed = 1;
  // Of the experts' popularity and of which experts go together. Not set: as seed. Windows with
  // equal model seeds are new samples of one model.
  std::optional<std::uint64_t> model_seed;

  std::int64_t num_prompts = 64;
  std::int64_t rollouts = 8;     // samples of a prompt
  std::int64_t num_samples = 0;  // 0: prompts * rollouts; else the last prompt has fewer

  // Lengths in tokens. A response is lognormal: its log has standard deviation length_between over
  // prompts and length_within over the rollouts of a prompt. Prompt and response together are at
  // most length_max; besides those that hit it, capped_share of the samples lie exactly there.
  double length_median = 800.0;  // of responses
  double length_between = 0.35;
  double length_within = 0.3;
  std::int64_t length_max = 8192;
  double prompt_median = 150.0;
  double capped_share = 0.02;

  // Not set: lognormal:1.1, but flat with a pattern.
  std::optional<Popularity> popularity;
  double spread = 0.3;         // standard deviation over samples of an expert's log rate
  double share_prompt = 0.85;  // part of that variance common to the rollouts of a prompt
  double design_effect = 0.8;  // variance of counts against that of independent tokens

  Pattern pattern = Pattern::kNone;
  int pattern_ep = 8;
  double heat = 4.0;
  std::int64_t step = 0;  // optimizer step, for drift and for the patterns that change over steps
  // Every step multiplies each expert's popularity by a lognormal factor of this standard deviation
  // of the log: a random walk from the model's popularity at step 0.
  double drift = 0.0;

  WindowForm form = WindowForm::kCounts;
  bool all_layers = false;  // kRoutes: the layer axis holds dense layers too, as zeros
  bool last_route = false;  // kRoutes: a route for a sample's last token, which engines leave out

  std::string name;  // of the window; empty: from model and pattern

  [[nodiscard]] std::int64_t samples() const {
    return num_samples > 0 ? num_samples : num_prompts * rollouts;
  }
  [[nodiscard]] std::int64_t prompt_of(std::int64_t sample) const { return sample / rollouts; }
};

// Throws NUMBER_OUT_OF_RANGE or USAGE, naming the option, and EXPERTS_NOT_DIVISIBLE where a pattern
// needs whole EP ranks.
void validate_synth(const SynthOptions& options);

// All options in one line, for the window's `source`.
[[nodiscard]] std::string describe(const SynthOptions& options);

}  // namespace routepack::synth
