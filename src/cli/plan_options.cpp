#include "cli/plan_options.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "cli/command.hpp"
#include "cli/constraint_options.hpp"
#include "io/plan_file.hpp"

namespace routepack::cli {
namespace {

constexpr double kMaxSize = 1 << 20;
constexpr double kMaxCount = 1e15;  // exact in a double

Option size_option(const std::string& name, const std::string& help, bool required = false) {
  return {
      .name = name,
      .kind = OptionKind::kInteger,
      .value_name = "N",
      .help = help,
      .default_value = required ? "" : "1",
      .min = 1,
      .max = kMaxSize,
      .required = required};
}

// "NAME:ALPHA:BETA".
AttentionStage parse_stage(const std::string& text) {
  const std::size_t first = text.find(':');
  const std::size_t second = text.find(':', first == std::string::npos ? first : first + 1);
  RP_CHECK(
      first != 0 && second != std::string::npos && text.find(':', second + 1) == std::string::npos,
      ErrorCode::kUsage, "--stage is '{}', expected NAME:ALPHA:BETA", text
  );
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  AttentionStage stage;
  stage.name = text.substr(0, first);
  const std::string what = "of --stage " + stage.name;
  stage.alpha =
      parse_real(text.substr(first + 1, second - first - 1), 0.0, kInfinity, "ALPHA " + what);
  stage.beta = parse_real(text.substr(second + 1), 0.0, kInfinity, "BETA " + what);
  return stage;
}

std::vector<AttentionStage> attention_stages(const OptionValues& values) {
  if (values.has("model")) {
    return {};
  }
  std::vector<AttentionStage> stages;
  for (const std::string& text : values.texts("stage")) {
    stages.push_back(parse_stage(text));
    const std::string& name = stages.back().name;
    RP_CHECK(
        std::ranges::count(stages, name, &AttentionStage::name) == 1, ErrorCode::kUsage,
        "--stage {} is given twice", name
    );
  }
  if (stages.empty()) {
    const auto coefficient = [&](const char* name) {
      return values.has(name) ? values.real(name) : 0.0;
    };
    stages.push_back({"full", coefficient("alpha"), coefficient("beta")});
  }
  return stages;
}

Topology topology_of(const OptionValues& values) {
  const auto size = [&](const char* name) { return static_cast<int>(values.integer(name)); };
  return {
      .dp = size("dp"),
      .ep = size("ep"),
      .tp = size("tp"),
      .cp = size("cp"),
      .pp = size("pp"),
      .etp = size("etp")};
}

SearchOptions search_of(const OptionValues& values) {
  const auto number = [&](const char* name) { return values.has(name) ? values.integer(name) : 0; };
  return {
      .seed = static_cast<std::uint64_t>(values.integer("seed")),
      .num_chains = static_cast<int>(number("chains")),
      .num_sweeps = number("sweeps"),
      .time_limit_seconds = values.has("time-limit") ? values.real("time-limit") : 0.0,
      .target_gap = values.has("gap") ? values.real("gap") / 100.0 : 0.0,
      .num_threads = static_cast<int>(number("threads"))};
}

MigrationOptions migration_of(const OptionValues& values) {
  return {
      .cost_per_expert = values.real("migration-cost-per-expert"),
      .horizon_steps = values.integer("horizon-steps"),
      .max_moved_fraction = values.real("max-moved-fraction"),
      .bytes_per_expert = values.has("bytes-per-expert") ? values.integer("bytes-per-expert") : 0};
}

}  // namespace

std::vector<Option> topology_options() {
  return {
      size_option("dp", "data-parallel slots of the dense part", true),
      size_option("ep", "expert-parallel ranks", true),
      size_option("tp", "tensor-parallel size of the dense part"),
      size_option("cp", "context-parallel size"),
      size_option("pp", "pipeline stages"),
      size_option(
          "etp", "tensor-parallel size of the experts; not that of the dense part where not given"
      ),
  };
}

std::vector<Option> cost_options() {
  return {
      {.name = "alpha",
       .kind = OptionKind::kReal,
       .value_name = "A",
       .help = "cost of a full cell's tokens in the one attention stage",
       .min = 0.0,
       .contradicts = {"stage", "model"}},
      {.name = "beta",
       .kind = OptionKind::kReal,
       .value_name = "B",
       .help = "cost of a sample as long as a full cell, quadratic in its length",
       .min = 0.0,
       .contradicts = {"stage", "model"}},
      {.name = "stage",
       .value_name = "NAME:ALPHA:BETA",
       .help = "an attention stage of its own",
       .repeated = true,
       .contradicts = {"alpha", "beta", "model"}},
      {.name = "model",
       .value_name = "PRESET",
       .help = "derive the costs from a model's sizes: attention stages, and 1/etp a routed pair",
       .contradicts = {"alpha", "beta", "stage"}},
      {.name = "expert-weight",
       .kind = OptionKind::kReal,
       .value_name = "W",
       .help =
           "cost of a routed pair at the peak EP rank; 1, or 1/etp with --model, where not given",
       .min = 0.0},
  };
}

Option seed_option() {
  return {
      .name = "seed",
      .kind = OptionKind::kInteger,
      .value_name = "S",
      .help = "seed of every random draw",
      .default_value = "1",
      .min = 0.0};
}

Option threads_option() {
  return {
      .name = "threads",
      .kind = OptionKind::kInteger,
      .value_name = "N",
      .help =
          "threads of a rank; the node's cores divided by its ranks where not given; more than "
          "four times the node's cores are of no use and not started",
      .min = 1,
      .max = 4096,
      .across_ranks = AcrossRanks::kFree};
}

std::vector<Option> search_options() {
  return {
      seed_option(),
      {.name = "chains",
       .kind = OptionKind::kInteger,
       .value_name = "P",
       .help = "annealed layouts; chosen from the window's size where not given",
       .min = 1,
       .max = kMaxSize},
      {.name = "sweeps",
       .kind = OptionKind::kInteger,
       .value_name = "K",
       .help =
           "work budget of a chain, reproducible; chosen from the window's size where not given",
       .min = 1,
       .max = kMaxCount,
       .contradicts = {"time-limit"}},
      {.name = "time-limit",
       .kind = OptionKind::kReal,
       .value_name = "SECONDS",
       .help = "stop after this time; the plan then says that it was time-limited",
       .min = 0.001,
       .max = 1e9,
       .contradicts = {"sweeps"}},
      {.name = "gap",
       .kind = OptionKind::kReal,
       .value_name = "PERCENT",
       .help = "good enough: stop once max_shard is within so much of its lower bound",
       .min = 0.0,
       .max = 1e6},
      threads_option(),
  };
}

std::vector<Option> migration_options() {
  return {
      {.name = "current-placement",
       .value_name = "FILE",
       .help = "where the experts live now: a placement file or a plan",
       .across_ranks = AcrossRanks::kGivenOrNot},
      {.name = "migration-cost-per-expert",
       .kind = OptionKind::kReal,
       .value_name = "X",
       .help = "what moving an expert costs, in units of max_shard",
       .default_value = "0",
       .min = 0.0},
      {.name = "horizon-steps",
       .kind = OptionKind::kInteger,
       .value_name = "N",
       .help = "optimizer steps that a placement serves",
       .default_value = "1",
       .min = 1,
       .max = kMaxCount},
      {.name = "max-moved-fraction",
       .kind = OptionKind::kReal,
       .value_name = "F",
       .help = "of all experts of all layers, how many may move",
       .default_value = "1",
       .min = 0.0,
       .max = 1.0},
      {.name = "bytes-per-expert",
       .kind = OptionKind::kInteger,
       .value_name = "N",
       .help = "weights and optimizer state of an expert of a layer, for the report",
       .min = 0,
       .max = kMaxCount},
  };
}

CommandSpec plan_spec() {
  CommandSpec spec{
      .name = "plan",
      .positional = "WINDOW",
      .summary = "Places experts, packs samples into rows and writes the plan of a window."};
  spec.options = topology_options();
  spec.options.push_back(
      {.name = "capacity",
       .kind = OptionKind::kInteger,
       .value_name = "C",
       .help = "tokens of a cell, that is of the whole tp*cp group that runs it, not of one GPU",
       .min = 1,
       .max = static_cast<double>(std::int64_t{1} << 40U),
       .required = true}
  );
  spec.options.push_back(size_option("row-multiple", "rows are a multiple of this"));
  spec.options.push_back(size_option("pad-multiple", "lengths are rounded up to a multiple of this")
  );
  for (const std::vector<Option>& part :
       {constraint_options(), cost_options(), search_options(), migration_options()}) {
    spec.options.insert(spec.options.end(), part.begin(), part.end());
  }
  spec.options.push_back(
      {.name = "out,o",
       .value_name = "FILE",
       .help = "the plan to write (.json)",
       .across_ranks = AcrossRanks::kFree}
  );
  return spec;
}

PlanRequest plan_request(const OptionValues& values) {
  PlanRequest request;
  request.window = values.positional();
  request.out = values.text("out");
  request.model = values.text("model");
  request.verbosity = verbosity_of(values);
  request.progress = values.flag("progress");
  PlanOptions& options = request.options;
  options.topology = topology_of(values);
  validate_topology(options.topology, 0);
  options.cost.capacity_tokens = values.integer("capacity");
  options.cost.stages = attention_stages(values);
  options.cost.expert_weight = values.has("expert-weight") ? values.real("expert-weight") : 1.0;
  validate_cost(options.cost);
  options.row_multiple = static_cast<int>(values.integer("row-multiple"));
  options.pad_multiple = values.integer("pad-multiple");
  options.constraints = constraints_of(values);
  options.search = search_of(values);
  options.migration = migration_of(values);
  if (values.has("current-placement")) {
    options.current_placement =
        read_placement(values.text("current-placement"), options.topology.ep);
  }
  return request;
}

}  // namespace routepack::cli
