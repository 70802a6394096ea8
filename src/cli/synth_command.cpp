// routepack synth --preset NAME --out DIR: a synthetic window.
#include <fmt/ranges.h>

#include <cstdio>

#include "base/checked.hpp"
#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "comm/agreement.hpp"
#include "synth/synth_run.hpp"

namespace routepack::cli {
namespace {

constexpr double kMaxInteger = 1e9;

Option number(const char* name, OptionKind kind, double min, double max, const char* help) {
  return {.name = name, .kind = kind, .value_name = "N", .help = help, .min = min, .max = max};
}

template <class T>
Option with_default(Option option, T value) {
  option.default_value = fmt::format("{}", value);
  return option;
}

std::vector<Option> window_options(const SynthOptions& defaults) {
  constexpr OptionKind kInteger = OptionKind::kInteger;
  constexpr OptionKind kReal = OptionKind::kReal;
  return {
      {.name = "preset",
       .value_name = "NAME",
       .help = fmt::format("the model: {}", fmt::join(preset_names(), ", ")),
       .required = true},
      {.name = "out,o",
       .value_name = "DIR",
       .help = "the window's folder",
       .required = true,
       .across_ranks = AcrossRanks::kFree},
      {.name = "force",
       .kind = OptionKind::kFlag,
       .help = "write into a folder that holds files but no window; those files stay"},
      with_default(number("seed", kInteger, 0, 1e18, "same seed, same bytes"), defaults.seed),
      number(
          "model-seed", kInteger, 0, 1e18,
          "of popularity; equal ones with other seeds: new samples of one model; default: the seed"
      ),
      number("samples", kInteger, 1, kMaxInteger, "samples; default: prompts times rollouts"),
      number("prompts", kInteger, 1, kMaxInteger, "prompts; default: 64, or as --samples needs"),
      with_default(
          number("rollouts", kInteger, 1, kMaxInteger, "samples a prompt"), defaults.rollouts
      ),
      with_default(
          number("length-median", kReal, 1, kMaxInteger, "median response, tokens"),
          defaults.length_median
      ),
      with_default(
          number("length-between", kReal, 0, 5, "spread of log lengths between prompts"),
          defaults.length_between
      ),
      with_default(
          number("length-within", kReal, 0, 5, "spread of log lengths within a prompt"),
          defaults.length_within
      ),
      with_default(
          number("length-max", kInteger, 2, kMaxInteger, "longest sample, tokens"),
          defaults.length_max
      ),
      with_default(
          number("prompt-median", kReal, 1, kMaxInteger, "median prompt, tokens"),
          defaults.prompt_median
      ),
      with_default(
          number("capped-share", kReal, 0, 1, "share of samples of exactly the longest length"),
          defaults.capped_share
      ),
  };
}

std::vector<Option> routing_options(const SynthOptions& defaults) {
  constexpr OptionKind kReal = OptionKind::kReal;
  return {
      {.name = "popularity",
       .value_name = "KIND",
       .help = "of experts: lognormal:SIGMA, zipf:EXPONENT or flat; default: lognormal:1.1, with a "
               "pattern flat"},
      with_default(
          number("spread", kReal, 0, 5, "spread over samples of an expert's log rate"),
          defaults.spread
      ),
      with_default(
          number("share-prompt", kReal, 0, 1, "part of it that a prompt's rollouts share"),
          defaults.share_prompt
      ),
      with_default(
          number("design-effect", kReal, 0, 100, "variance of counts against independent tokens"),
          defaults.design_effect
      ),
      {.name = "pattern",
       .value_name = "NAME",
       .help = fmt::format(
           "a workload with one cause of imbalance: {}", fmt::join(pattern_names(), ", ")
       ),
       .default_value = std::string(name_of(defaults.pattern))},
      with_default(
          number(
              "pattern-ep", OptionKind::kInteger, 1, kMaxInteger,
              "EP ranks that a pattern is made for"
          ),
          defaults.pattern_ep
      ),
      with_default(
          number("heat", kReal, 1, 1e6, "popularity of a pattern's hot experts"), defaults.heat
      ),
      with_default(
          number(
              "step", OptionKind::kInteger, 0, kMaxInteger, "optimizer step of pattern and drift"
          ),
          defaults.step
      ),
      with_default(
          number("drift", kReal, 0, 5, "change of an expert's log popularity at every step"),
          defaults.drift
      ),
      {.name = "form",
       .value_name = "FORM",
       .help = "counts (per sample and expert) or routes (of every token)",
       .default_value = "counts"},
      {.name = "all-layers",
       .kind = OptionKind::kFlag,
       .help = "routes: the layer axis has dense layers too"},
      {.name = "last-route",
       .kind = OptionKind::kFlag,
       .help = "routes: the last token of a sample has a route"},
      {.name = "name", .value_name = "TEXT", .help = "the window's name in reports"},
  };
}

WindowForm parse_form(const std::string& word) {
  RP_CHECK(
      word == "counts" || word == "routes", ErrorCode::kUsage,
      "--form is {}, it must be counts or routes", word
  );
  return word == "routes" ? WindowForm::kRoutes : WindowForm::kCounts;
}

SynthRequest request_of(const OptionValues& values) {
  SynthRequest request;
  request.out = values.text("out");
  request.force = values.flag("force");
  SynthOptions& window = request.window;
  window.model = find_preset(values.text("preset"));
  window.seed = static_cast<std::uint64_t>(values.integer("seed"));
  if (values.has("model-seed")) {
    window.model_seed = static_cast<std::uint64_t>(values.integer("model-seed"));
  }
  window.rollouts = values.integer("rollouts");
  if (values.has("samples")) {
    window.num_samples = values.integer("samples");
    window.num_prompts = ceil_divide(window.num_samples, window.rollouts);
  }
  if (values.has("prompts")) {
    window.num_prompts = values.integer("prompts");
  }
  window.length_median = values.real("length-median");
  window.length_between = values.real("length-between");
  window.length_within = values.real("length-within");
  window.length_max = values.integer("length-max");
  window.prompt_median = values.real("prompt-median");
  window.capped_share = values.real("capped-share");
  if (values.has("popularity")) {
    window.popularity = parse_popularity(values.text("popularity"));
  }
  window.spread = values.real("spread");
  window.share_prompt = values.real("share-prompt");
  window.design_effect = values.real("design-effect");
  window.pattern = parse_pattern(values.text("pattern"));
  window.pattern_ep = static_cast<int>(values.integer("pattern-ep"));
  window.heat = values.real("heat");
  window.step = values.integer("step");
  window.drift = values.real("drift");
  window.form = parse_form(values.text("form"));
  window.all_layers = values.flag("all-layers");
  window.last_route = values.flag("last-route");
  window.name = values.has("name") ? values.text("name") : "";
  RP_CHECK(
      window.form == WindowForm::kRoutes || !(window.all_layers || window.last_route),
      ErrorCode::kUsage, "--all-layers and --last-route need --form routes"
  );
  return request;
}

// Tenths of the work, each on a line of stderr.
SynthProgress progress_of(const OptionValues& values) {
  const ProgressStyle style =
      progress_style(true, verbosity_of(values), values.flag("progress"), stderr_is_terminal());
  if (style == ProgressStyle::kNone) {
    return {};
  }
  return [tenths = 0](double done) mutable {
    const int reached = static_cast<int>(done * 10.0);
    if (reached > tenths) {
      tenths = reached;
      report("synth done={}%\n", 10 * reached);
    }
  };
}

void run_command(const OptionValues& values, const Communicator& comm) {
  const SynthRequest request = agree_on([&values] { return request_of(values); }, comm);
  const SynthSummary summary = run_synth(request, progress_of(values), comm);
  if (comm.is_root()) {
    print_output(
        "{{\"samples\": {}, \"tokens\": {}, \"median_tokens\": {}, \"longest_tokens\": {}, "
        "\"moe_layers\": {}, \"experts\": {}, \"routing_bytes\": {}}}\n",
        summary.samples, summary.tokens, summary.median_tokens, summary.longest_tokens,
        request.window.model.moe_layers().size(), request.window.model.experts, summary.bytes
    );
  }
}

}  // namespace

Command synth_command() {
  const SynthOptions defaults;
  std::vector<Option> options = window_options(defaults);
  for (Option& option : routing_options(defaults)) {
    options.push_back(std::move(option));
  }
  return {
      {.name = "synth",
       .summary = "Makes a synthetic window: one optimizer step of rollouts of a known model.",
       .options = std::move(options)},
      run_command};
}

}  // namespace routepack::cli
