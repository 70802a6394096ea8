#include "io/plan_reader.hpp"

#include <algorithm>
#include <limits>
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

// The lowest sample that no cell names, at most their number.
std::int64_t first_missing(const Cells& rows) {
  std::size_t num_named = 0;
  for (const auto& cells : rows) {
    for (const auto& samples : cells) {
      num_named += samples.size();
    }
  }
  std::vector<bool> is_named(num_named + 1, false);
  for (const auto& cells : rows) {
    for (const auto& samples : cells) {
      for (const std::int64_t sample : samples) {
        if (std::cmp_less(sample, num_named)) {
          is_named[static_cast<std::size_t>(sample)] = true;
        }
      }
    }
  }
  return std::ranges::find(is_named, false) - is_named.begin();
}

CellLayout read_cells(
    const JsonFields& fields, std::int64_t num_samples, int dp, const std::string& path
) {
  const Cells rows = fields.integer_tables("cells", 0, num_samples - 1);
  // Before anything of the size that 'window' claims.
  const std::int64_t missing = first_missing(rows);
  RP_CHECK(
      missing >= num_samples, ErrorCode::kFileMalformed,
      "{}: sample {} of {} is in none of the 'cells'", path, missing, num_samples
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
