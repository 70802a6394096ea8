#include "io/plan_reader.hpp"

#include <limits>
#include <set>
#include <vector>

#include "base/check.hpp"
#include "io/json_fields.hpp"
#include "io/placement_reader.hpp"

namespace routepack {
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

}  // namespace routepack
