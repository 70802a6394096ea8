// routepack synth --preset NAME --out DIR: a synthetic window.
#include <fmt/ranges.h>

#include <optional>

#include "base/check.hpp"
#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "comm/agreement.hpp"
#include "synth/synth_run.hpp"

namespace routepack::cli {
namespace {

constexpr double kMaxInteger = 1e9;
constexpr Range kCount = {1, kMaxInteger};

constexpr Choice<synth::WindowForm> kForms[] = {
    {"counts", synth::WindowForm::kCounts}, {"routes", synth::WindowForm::kRoutes}};

// What the options of `synth` set.
struct SynthCommandRequest {
  CommonOptions common;
  synth::SynthRequest synth;
  std::optional<std::int64_t> num_prompts;  // not given: the default, or as the samples need
};

void add_window(OptionTable& table, SynthCommandRequest& request) {
  synth::SynthOptions& window = request.synth.window;
  table.parsed(
      "preset", "NAME", window.model, domain::find_preset, "",
      fmt::format("the model: {}", fmt::join(domain::preset_names(), ", ")), {.required = true}
  );
  table.text(
      "out,o", "DIR", request.synth.out, "the window's folder",
      {.required = true, .across_ranks = AcrossRanks::kOutput}
  );
  table.flag(
      "force", request.synth.force,
      "write into a folder that holds files but no window; those files stay"
  );
  table.number("seed", "N", window.seed, {0, 1e18}, "same seed, same bytes");
  table.number(
      "model-seed", "N", window.model_seed, {0, 1e18},
      "of popularity; equal ones with other seeds: new samples of one model; default: the seed"
  );
  table.number(
      "samples", "N", window.num_samples, kCount, "samples; default: prompts times rollouts"
  );
  table.number(
      "prompts", "N", request.num_prompts, kCount, "prompts; default: 64, or as --samples needs"
  );
  table.number("rollouts", "N", window.rollouts, kCount, "samples a prompt");
}

void add_lengths(OptionTable& table, synth::SynthOptions& window) {
  table.number("length-median", "N", window.length_median, kCount, "median response, tokens");
  table.number(
      "length-between", "N", window.length_between, {0, 5}, "spread of log lengths between prompts"
  );
  table.number(
      "length-within", "N", window.length_within, {0, 5}, "spread of log lengths within a prompt"
  );
  table.number("length-max", "N", window.length_max, {2, kMaxInteger}, "longest sample, tokens");
  table.number("prompt-median", "N", window.prompt_median, kCount, "median prompt, tokens");
  table.number(
      "capped-share", "N", window.capped_share, {0, 1},
      "share of samples of exactly the longest length"
  );
}

void add_routing(OptionTable& table, synth::SynthOptions& window) {
  table.parsed(
      "popularity", "KIND", window.popularity, synth::parse_popularity, "",
      "of experts: lognormal:SIGMA, zipf:EXPONENT or flat; default: lognormal:1.1, with a "
      "pattern flat"
  );
  table.number("spread", "N", window.spread, {0, 5}, "spread over samples of an expert's log rate");
  table.number(
      "share-prompt", "N", window.share_prompt, {0, 1}, "part of it that a prompt's rollouts share"
  );
  table.number(
      "design-effect", "N", window.design_effect, {0, 100},
      "variance of counts against independent tokens"
  );
  table.parsed(
      "pattern", "NAME", window.pattern, synth::parse_pattern,
      std::string(synth::name_of(window.pattern)),
      fmt::format(
          "a workload with one cause of imbalance: {}", fmt::join(synth::pattern_names(), ", ")
      )
  );
  table.number("pattern-ep", "N", window.pattern_ep, kCount, "EP ranks that a pattern is made for");
  table.number("heat", "N", window.heat, {1, 1e6}, "popularity of a pattern's hot experts");
  table.number("step", "N", window.step, {0, kMaxInteger}, "optimizer step of pattern and drift");
  table.number(
      "drift", "N", window.drift, {0, 5}, "change of an expert's log popularity at every step"
  );
}

void add_form(OptionTable& table, synth::SynthOptions& window) {
  table.choice(
      "form", "FORM", window.form, kForms,
      "counts (per sample and expert) or routes (of every token)"
  );
  table.flag("all-layers", window.all_layers, "routes: the layer axis has dense layers too");
  table.flag("last-route", window.last_route, "routes: the last token of a sample has a route");
  table.text("name", "TEXT", window.name, "the window's name in reports");
}

OptionTable synth_options(SynthCommandRequest& request) {
  OptionTable table(
      "synth", "Makes a synthetic window: one optimizer step of rollouts of a known model.",
      request.common
  );
  add_window(table, request);
  add_lengths(table, request.synth.window);
  add_routing(table, request.synth.window);
  add_form(table, request.synth.window);
  return table;
}

// What several options decide together.
synth::SynthRequest completed(const SynthCommandRequest& asked) {
  synth::SynthRequest request = asked.synth;
  synth::SynthOptions& window = request.window;
  if (asked.num_prompts) {
    window.num_prompts = *asked.num_prompts;
  } else if (window.num_samples > 0) {
    window.num_prompts = base::ceil_divide(window.num_samples, window.rollouts);
  }
  RP_CHECK(
      window.form == synth::WindowForm::kRoutes || !(window.all_layers || window.last_route),
      ErrorCode::kUsage, "--all-layers and --last-route need --form routes"
  );
  return request;
}

// Tenths of the work, each on a line of stderr.
synth::SynthProgress progress_of(const CommonOptions& common) {
  const ProgressStyle style =
      progress_style(true, common.verbosity(), common.progress, stderr_is_terminal());
  if (style == ProgressStyle::kNone) {
    return {};
  }
  return [tenths = 0](double done) mutable {
    const int reached = static_cast<int>(done * 10.0);
    if (reached > tenths) {
      tenths = reached;
      base::report("synth done={}%\n", 10 * reached);
    }
  };
}

void run_command(const SynthCommandRequest& asked, const comm::Communicator& comm) {
  const synth::SynthRequest request = comm::agree_on([&asked] { return completed(asked); }, comm);
  const synth::SynthSummary summary = synth::run_synth(request, progress_of(asked.common), comm);
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

Command synth_command() { return make_command(synth_options, run_command); }

}  // namespace routepack::cli
