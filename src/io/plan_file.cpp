#include "io/plan_file.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/check.hpp"
#include "io/json_fields.hpp"
#include "io/output_file.hpp"

namespace routepack::io {
namespace {

using Json = nlohmann::ordered_json;

std::string compact(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// JSON knows no infinity; costs overflow only for absurd coefficients.
double finite(double value, const char* name) {
  RP_CHECK(
      std::isfinite(value), ErrorCode::kNumberOutOfRange,
      "{} is {}: the cost coefficients are too "
      "large",
      name, value
  );
  return value;
}

Json window_json(const Plan& plan) {
  return {{"samples", plan.window.num_samples}, {"moe_layers", plan.window.num_moe_layers()},
          {"experts", plan.window.num_experts}, {"top_k", plan.window.top_k},
          {"tokens", plan.total_tokens},        {"unrouted_tokens", plan.unrouted_tokens}};
}

Json topology_json(const Topology& topology) {
  return {{"dp", topology.dp},     {"ep", topology.ep},
          {"tp", topology.tp},     {"cp", topology.cp},
          {"pp", topology.pp},     {"etp", topology.etp},
          {"edp", topology.edp()}, {"dp_per_shard", topology.dp_per_shard()}};
}

// Only the parameters that the kind of bound has.
Json proof_json(const CellBound& bound) {
  Json proof = {{"kind", bound.kind}, {"cells", bound.cells}};
  if (bound.lambda != 0) {
    proof["lambda"] = bound.lambda;
  }
  if (bound.parts != 0) {
    proof["parts"] = bound.parts;
  }
  return proof;
}

Json rows_json(const RowCertificate& rows) {
  return {
      {"count", rows.num_rows},
      {"status", rows.status == RowStatus::kCertified ? "certified" : "best_known"},
      {"lower_bound", rows.lower_bound_rows},
      {"proof", proof_json(rows.bound)}};
}

Json cost_json(const CostModel& cost) {
  Json stages = Json::array();
  for (const AttentionStage& stage : cost.stages) {
    stages.push_back({{"name", stage.name}, {"alpha", stage.alpha}, {"beta", stage.beta}});
  }
  return {
      {"capacity", cost.capacity_tokens},
      {"stages", stages},
      {"expert_weight", cost.expert_weight}};
}

Json score_json(const Score& score) {
  return {
      {"max_shard", finite(score.max_shard, "max_shard")},
      {"sum_shards", finite(score.sum_shards, "sum_shards")},
      {"max_row", finite(score.max_row, "max_row")}};
}

Json metrics_json(const PolicyMetrics& metrics) {
  Json json = score_json(metrics.score);
  json["rows"] = metrics.rows;
  json["attention"] = finite(metrics.attention, "attention");
  json["ep_peak_sum"] = finite(metrics.ep_peak_sum, "ep_peak_sum");
  json["tail_peak"] = finite(metrics.tail_peak, "tail_peak");
  json["ep_balance_efficiency"] = finite(metrics.ep_balance_efficiency, "ep_balance_efficiency");
  json["cv_global"] = finite(metrics.cv_global, "cv_global");
  return json;
}

std::string_view name_of(PlacementChoice choice) {
  switch (choice) {
    case PlacementChoice::kFree:
      return "free";
    case PlacementChoice::kCurrent:
      return "current";
    case PlacementChoice::kIdentity:
      return "identity";
  }
  return "";
}

std::string_view name_of(SearchEnd end) {
  switch (end) {
    case SearchEnd::kProved:
      return "proved";
    case SearchEnd::kGap:
      return "gap";
    case SearchEnd::kBudget:
      return "budget";
    case SearchEnd::kTime:
      return "time";
  }
  return "";
}

// A limit of 0 stands for none.
Json constraints_json(const Constraints& constraints) {
  Json json = {
      {"samples_per_slot",
       constraints.samples_per_slot == SamplesPerSlot::kEqual ? "equal" : "any"},
      {"oversize", constraints.oversize == Oversize::kOwnRow ? "own_row" : "error"},
      {"max_samples_per_cell", nullptr},
      {"cell_pad_multiple", constraints.cell_pad_multiple},
      {"pad_routes", constraints.pad_routes == PadRoutes::kSpread ? "spread" : "none"},
      {"placement", name_of(constraints.placement)}};
  if (constraints.max_samples_per_cell > 0) {
    json["max_samples_per_cell"] = constraints.max_samples_per_cell;
  }
  return json;
}

Json oversized_json(const std::vector<SampleId>& oversized) {
  Json samples = Json::array();
  for (const SampleId sample : oversized) {
    samples.push_back(sample.value());
  }
  return samples;
}

Json bound_json(const Plan& plan) {
  return {
      {"max_shard", finite(plan.lower_bound.max_shard, "lower_bound")},
      {"gap", finite(plan.gap(), "lower_bound.gap")},
      {"kind", plan.lower_bound.kind},
      {"balanced", finite(plan.lower_bound.balanced, "lower_bound.balanced")},
      {"gap_to_balanced", finite(plan.gap_to_balanced(), "lower_bound.gap_to_balanced")},
      {"hot_expert_loss", plan.lower_bound.hot_expert_loss}};
}

Json search_json(const Plan& plan) {
  return {
      {"seed", plan.search.seed},
      {"chains", plan.search.num_chains},
      {"sweeps", plan.search.num_sweeps},
      {"time_limited", plan.time_limited()},
      {"ended", name_of(plan.ended)}};
}

Json migration_json(const Plan& plan) {
  Json migration = {{"moved_experts", plan.moved_experts}, {"moved_bytes", nullptr}};
  if (plan.moved_bytes) {
    migration["moved_bytes"] = *plan.moved_bytes;
  }
  for (const MigrationPoint& point : plan.migration_front) {
    migration["front"].push_back(
        {{"max_moved_fraction", point.max_moved_fraction},
         {"moved_experts", point.moved_experts},
         {"max_shard", finite(point.max_shard, "migration.front.max_shard")}}
    );
  }
  return migration;
}

// A list with one element a line.
std::string lines_of(const std::vector<std::string>& elements) {
  return elements.empty() ? "[]" : fmt::format("[\n    {}\n  ]", fmt::join(elements, ",\n    "));
}

std::string cells_text(const CellLayout& layout) {
  const IndexVector<CellId, std::vector<SampleId>> samples = samples_by_cell(layout);
  std::vector<std::string> rows;
  for (const RowId row : ids<RowId>(layout.num_rows)) {
    std::vector<std::string> cells;
    for (const DpSlot slot : ids<DpSlot>(layout.dp)) {
      std::vector<int> members;
      for (const SampleId sample : samples[layout.cell(row, slot)]) {
        members.push_back(sample.value());
      }
      cells.push_back(fmt::format("[{}]", fmt::join(members, ",")));
    }
    rows.push_back(fmt::format("[{}]", fmt::join(cells, ",")));
  }
  return lines_of(rows);
}

}  // namespace

std::vector<std::string> layer_texts(const Placement& placement, std::string_view comma) {
  std::vector<std::string> layers;
  for (const LayerPlacement& layer : placement.layers) {
    std::vector<SlotId::Value> slots;
    for (const SlotId slot : layer) {
      slots.push_back(slot.value());
    }
    layers.push_back(fmt::format("[{}]", fmt::join(slots, comma)));
  }
  return layers;
}

std::string plan_text(const Plan& plan) {
  std::string text = "{\n";
  const auto add = [&text](const char* key, const std::string& value) {
    text += fmt::format("{}  \"{}\": {}", text.size() > 2 ? ",\n" : "", key, value);
  };
  add("format", "\"routepack-plan/1\"");
  add("window", compact(window_json(plan)));
  add("topology", compact(topology_json(plan.topology)));
  add("capacity_tokens", fmt::to_string(plan.cost.capacity_tokens));
  add("row_multiple", fmt::to_string(plan.row_multiple));
  add("pad_multiple", fmt::to_string(plan.pad_multiple));
  add("seed", fmt::to_string(plan.search.seed));
  add("constraints", compact(constraints_json(plan.constraints)));
  add("oversized", compact(oversized_json(plan.oversized)));
  add("search", compact(search_json(plan)));
  add("rows", compact(rows_json(plan.rows)));
  add("placement", lines_of(layer_texts(plan.placement, ",")));
  add("cells", cells_text(plan.layout));
  add("cost", compact(cost_json(plan.cost)));
  add("objective", compact(score_json(plan.objective)));
  add("lower_bound", compact(bound_json(plan)));
  add("policies",
      fmt::format(
          "{{\n    \"baseline\": {},\n    \"reorder\": {},\n    \"routepack\": {}\n  }}",
          compact(metrics_json(plan.baseline)), compact(metrics_json(plan.reorder)),
          compact(metrics_json(plan.routepack))
      ));
  add("migration", compact(migration_json(plan)));
  add("digest", compact(plan.digest));
  return text + "\n}\n";
}

void write_plan(const std::string& path, const Plan& plan) {
  AtomicFile file(path);
  file.write(plan_text(plan));
  file.commit();
}

Placement read_placement(const std::string& path, int ep) {
  constexpr std::int64_t kMaxSlot = (1 << 16) - 1;
  constexpr std::int64_t kMaxEp = 1 << 20;
  const JsonFields fields = JsonFields::read(path);
  if (fields.has("topology")) {
    const std::int64_t plan_ep = fields.object("topology").integer("ep", 1, kMaxEp);
    RP_CHECK(
        plan_ep == ep, ErrorCode::kUsage, "{} is a plan for ep = {}, here ep is {}", path, plan_ep,
        ep
    );
  }
  Placement placement;
  placement.ep = ep;
  for (const std::vector<std::int64_t>& slots : fields.integer_lists("placement", 0, kMaxSlot)) {
    LayerPlacement layer;
    for (const std::int64_t slot : slots) {
      layer.push_back(SlotId{static_cast<SlotId::Value>(slot)});
    }
    placement.layers.push_back(std::move(layer));
  }
  const auto num_layers = static_cast<int>(placement.layers.size());
  placement.num_experts =
      num_layers > 0 ? static_cast<int>(placement.layers[MoeLayer{0}].size()) : 0;
  RP_CHECK(
      placement.num_experts % ep == 0, ErrorCode::kExpertsNotDivisible,
      "{}: {} experts do not divide over ep = {} ranks", path, placement.num_experts, ep
  );
  try {
    validate_placement(placement, num_layers, placement.num_experts);
  } catch (const Error& error) {
    base::fail(error.code(), "{}: {}", path, error.what());
  }
  return placement;
}

namespace {

constexpr std::int64_t kMaxInt = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMaxSize = 1 << 20;

Topology read_topology(const JsonFields& fields) {
  const auto size = [&](const char* key) {
    return static_cast<int>(fields.integer(key, 1, kMaxSize));
  };
  return {
      .dp = size("dp"),
      .ep = size("ep"),
      .tp = size("tp"),
      .cp = size("cp"),
      .pp = size("pp"),
      .etp = size("etp")};
}

using Cells = std::vector<std::vector<std::vector<std::int64_t>>>;  // [row][slot], samples

std::int64_t num_named(const Cells& rows) {
  std::int64_t count = 0;
  for (const auto& cells : rows) {
    for (const auto& samples : cells) {
      count += static_cast<std::int64_t>(samples.size());
    }
  }
  return count;
}

// The lowest sample that no cell names.
std::int64_t first_missing(const Cells& rows) {
  std::set<std::int64_t> named;
  for (const auto& cells : rows) {
    for (const auto& samples : cells) {
      named.insert(samples.begin(), samples.end());
    }
  }
  std::int64_t missing = 0;
  while (named.contains(missing)) {
    ++missing;
  }
  return missing;
}

CellLayout read_cells(
    const JsonFields& fields, std::int64_t num_samples, int dp, const std::string& path
) {
  const Cells rows = fields.integer_tables("cells", 0, num_samples - 1);
  // Before anything of the size that 'window' only claims. As none may be named twice, enough of
  // them are all of them.
  RP_CHECK(
      num_named(rows) >= num_samples, ErrorCode::kFileMalformed,
      "{}: sample {} of {} is in none of the 'cells'", path, first_missing(rows), num_samples
  );
  CellLayout layout;
  layout.num_rows = static_cast<int>(rows.size());
  layout.dp = dp;
  const CellId nowhere{-1};
  layout.cell_of_sample =
      IndexVector<SampleId, CellId>{static_cast<std::size_t>(num_samples), nowhere};
  for (const RowId row : ids<RowId>(layout.num_rows)) {
    const auto& cells = rows[row.offset()];
    RP_CHECK(
        std::cmp_equal(cells.size(), dp), ErrorCode::kFileMalformed,
        "{}: row {} of 'cells' has {} cells, 'dp' is {}", path, row.value(), cells.size(), dp
    );
    for (const DpSlot slot : ids<DpSlot>(dp)) {
      for (const std::int64_t sample : cells[slot.offset()]) {
        CellId& cell = layout.cell_of_sample[SampleId{static_cast<SampleId::Value>(sample)}];
        RP_CHECK(
            cell == nowhere, ErrorCode::kFileMalformed, "{}: 'cells' names sample {} twice", path,
            sample
        );
        cell = layout.cell(row, slot);
      }
    }
  }
  return layout;
}

}  // namespace

PlanFile read_plan(const std::string& path) {
  const JsonFields fields = JsonFields::read(path);
  const std::string format = fields.text("format");
  RP_CHECK(
      format == "routepack-plan/1", ErrorCode::kFileMalformed,
      "{}: 'format' is '{}', expected 'routepack-plan/1'", path, format
  );
  PlanFile plan;
  plan.topology = read_topology(fields.object("topology"));
  plan.capacity_tokens =
      fields.integer("capacity_tokens", 1, std::numeric_limits<std::int64_t>::max());
  plan.row_multiple = static_cast<int>(fields.integer("row_multiple", 1, kMaxSize));
  plan.pad_multiple = fields.integer("pad_multiple", 1, kMaxInt);
  plan.placement = read_placement(path, plan.topology.ep);
  const std::int64_t num_samples = fields.object("window").integer("samples", 0, kMaxInt - 1);
  plan.layout = read_cells(fields, num_samples, plan.topology.dp, path);
  plan.digest = fields.text("digest");
  return plan;
}

}  // namespace routepack::io
