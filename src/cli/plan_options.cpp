#include "cli/plan_options.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "io/plan_file.hpp"

namespace routepack::cli {
namespace {

constexpr double kMaxSize = 1 << 20;
constexpr double kMaxCount = 1e15;  // exact in a double
constexpr Range kSize = {1, kMaxSize};

constexpr Choice<SamplesPerSlot> kSamplesPerSlot[] = {
    {"any", SamplesPerSlot::kAny}, {"equal", SamplesPerSlot::kEqual}};
constexpr Choice<Oversize> kOversize[] = {
    {"error", Oversize::kError}, {"own-row", Oversize::kOwnRow}};
constexpr Choice<PadRoutes> kPadRoutes[] = {
    {"none", PadRoutes::kNone}, {"spread", PadRoutes::kSpread}};
constexpr Choice<PlacementChoice> kPlacement[] = {
    {"free", PlacementChoice::kFree},
    {"current", PlacementChoice::kCurrent},
    {"identity", PlacementChoice::kIdentity}};

void add_topology(OptionTable& table, Topology& topology) {
  table.number(
      "dp", "N", topology.dp, kSize, "data-parallel slots of the dense part", {.required = true}
  );
  table.number("ep", "N", topology.ep, kSize, "expert-parallel ranks", {.required = true});
  table.number("tp", "N", topology.tp, kSize, "tensor-parallel size of the dense part");
  table.number("cp", "N", topology.cp, kSize, "context-parallel size");
  table.number("pp", "N", topology.pp, kSize, "pipeline stages");
  table.number(
      "etp", "N", topology.etp, kSize,
      "tensor-parallel size of the experts; not that of the dense part where not given"
  );
}

void add_rows(OptionTable& table, PlanOptions& options) {
  table.number(
      "capacity", "C", options.cost.capacity_tokens,
      {1, static_cast<double>(std::int64_t{1} << 40U)},
      "tokens of a cell, that is of the whole tp*cp group that runs it, not of one GPU",
      {.required = true}
  );
  table.number("row-multiple", "N", options.row_multiple, kSize, "rows are a multiple of this");
  table.number(
      "pad-multiple", "N", options.pad_multiple, kSize,
      "lengths are rounded up to a multiple of this"
  );
}

void add_constraints(OptionTable& table, Constraints& constraints) {
  table.choice(
      "samples-per-slot", "", constraints.samples_per_slot, kSamplesPerSlot,
      "equal: every DP slot has as many samples as any other"
  );
  table.choice(
      "oversize", "", constraints.oversize, kOversize,
      "a sample over the capacity is an error, or alone in its cell (own-row)"
  );
  table.number(
      "max-samples-per-cell", "N", constraints.max_samples_per_cell, {1, 1 << 30},
      "at most so many samples in a cell; no limit where not given"
  );
  table.number(
      "cell-pad-multiple", "M", constraints.cell_pad_multiple, {1, 1 << 30},
      "a cell's tokens are filled up to a multiple of this, which divides the capacity"
  );
  table.choice(
      "pad-routes", "", constraints.pad_routes, kPadRoutes,
      "spread: the tokens that fill a cell are routed too, evenly over the EP ranks"
  );
  table.choice(
      "placement", "", constraints.placement, kPlacement,
      "current, identity: experts do not move, only samples are laid out"
  );
}

// "NAME:ALPHA:BETA".
AttentionStage parse_stage(const std::string& text) {
  const std::size_t first = text.find(':');
  const std::size_t second = text.find(':', first == std::string::npos ? first : first + 1);
  RP_CHECK(
      first != 0 && second != std::string::npos && text.find(':', second + 1) == std::string::npos,
      ErrorCode::kUsage, "--stage is '{}', expected NAME:ALPHA:BETA", text
  );
  AttentionStage stage;
  stage.name = text.substr(0, first);
  const std::string what = "of --stage " + stage.name;
  stage.alpha = parse_number<double>(
      text.substr(first + 1, second - first - 1), at_least(0), "ALPHA " + what
  );
  stage.beta = parse_number<double>(text.substr(second + 1), at_least(0), "BETA " + what);
  return stage;
}

void add_costs(OptionTable& table, PlanRequest& request) {
  table.number(
      "alpha", "A", request.only_stage.alpha, at_least(0),
      "cost of a full cell's tokens in the one attention stage",
      {.hides_default = true, .contradicts = {"stage", "model"}}
  );
  table.number(
      "beta", "B", request.only_stage.beta, at_least(0),
      "cost of a sample as long as a full cell, quadratic in its length",
      {.hides_default = true, .contradicts = {"stage", "model"}}
  );
  table.repeated(
      "stage", "NAME:ALPHA:BETA", request.stages, parse_stage, "an attention stage of its own",
      {.contradicts = {"alpha", "beta", "model"}}
  );
  table.text(
      "model", "PRESET", request.model,
      "derive the costs from a model's sizes: attention stages, and 1/etp a routed pair",
      {.contradicts = {"alpha", "beta", "stage"}}
  );
  table.number(
      "expert-weight", "W", request.expert_weight, at_least(0),
      "cost of a routed pair at the peak EP rank; 1, or 1/etp with --model, where not given"
  );
}

void add_search(OptionTable& table, PlanRequest& request) {
  SearchOptions& search = request.options.search;
  add_seed(table, search.seed);
  table.number(
      "chains", "P", search.num_chains, kSize,
      "annealed layouts; chosen from the window's size where not given"
  );
  table.number(
      "sweeps", "K", search.num_sweeps, {1, kMaxCount},
      "work budget of a chain, reproducible; chosen from the window's size where not given",
      {.contradicts = {"time-limit"}}
  );
  table.number(
      "time-limit", "SECONDS", search.time_limit_seconds, {0.001, 1e9},
      "stop after this time; the plan then says that it was time-limited",
      {.contradicts = {"sweeps"}}
  );
  table.number(
      "gap", "PERCENT", request.gap_percent, {0, 1e6},
      "good enough: stop once max_shard is within so much of its lower bound",
      {.hides_default = true}
  );
  add_threads(table, search.num_threads);
}

void add_migration(OptionTable& table, PlanRequest& request) {
  MigrationOptions& migration = request.options.migration;
  table.text(
      "current-placement", "FILE", request.current_placement,
      "where the experts live now: a placement file or a plan",
      {.across_ranks = AcrossRanks::kGivenOrNot}
  );
  table.number(
      "migration-cost-per-expert", "X", migration.cost_per_expert, at_least(0),
      "what moving an expert costs, in units of max_shard"
  );
  table.number(
      "horizon-steps", "N", migration.horizon_steps, {1, kMaxCount},
      "optimizer steps that a placement serves"
  );
  table.number(
      "max-moved-fraction", "F", migration.max_moved_fraction, {0, 1},
      "of all experts of all layers, how many may move"
  );
  table.number(
      "bytes-per-expert", "N", migration.bytes_per_expert, {0, kMaxCount},
      "weights and optimizer state of an expert of a layer, for the report", {.hides_default = true}
  );
}

// None where a model gives them.
std::vector<AttentionStage> attention_stages(const PlanRequest& request) {
  if (!request.model.empty()) {
    return {};
  }
  for (const AttentionStage& stage : request.stages) {
    RP_CHECK(
        std::ranges::count(request.stages, stage.name, &AttentionStage::name) == 1,
        ErrorCode::kUsage, "--stage {} is given twice", stage.name
    );
  }
  return request.stages.empty() ? std::vector{request.only_stage} : request.stages;
}

}  // namespace

void add_seed(OptionTable& table, std::uint64_t& seed) {
  table.number("seed", "S", seed, at_least(0), "seed of every random draw");
}

void add_threads(OptionTable& table, int& num_threads) {
  table.number(
      "threads", "N", num_threads, {1, 4096},
      "threads of a rank; the node's cores divided by its ranks where not given; more than "
      "four times the node's cores are of no use and not started",
      {.across_ranks = AcrossRanks::kFree}
  );
}

OptionTable plan_options(PlanRequest& request) {
  OptionTable table(
      "plan", "Places experts, packs samples into rows and writes the plan of a window.",
      request.common
  );
  table.positional("WINDOW", request.window);
  add_topology(table, request.options.topology);
  add_rows(table, request.options);
  add_constraints(table, request.options.constraints);
  add_costs(table, request);
  add_search(table, request);
  add_migration(table, request);
  table.text(
      "out,o", "FILE", request.out, "the plan to write (.json)",
      {.across_ranks = AcrossRanks::kOutput}
  );
  return table;
}

PlanRequest completed(PlanRequest request) {
  PlanOptions& options = request.options;
  validate_topology(options.topology, 0);
  options.cost.stages = attention_stages(request);
  options.cost.expert_weight = request.expert_weight.value_or(options.cost.expert_weight);
  validate_cost(options.cost);
  options.search.target_gap = request.gap_percent / 100.0;
  if (!request.current_placement.empty()) {
    options.current_placement = io::read_placement(request.current_placement, options.topology.ep);
  }
  return request;
}

}  // namespace routepack::cli
