#include "planner/report.hpp"

#include <utility>

#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "base/digest.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "objective/evaluate.hpp"
#include "packing/bounds.hpp"
#include "packing/keep_counts.hpp"

namespace routepack {
namespace {

void check_row_proof(const Plan& plan, const PaddedLengths& padded, const CellRules& rules) {
  const CellBound& bound = plan.rows.bound;
  const std::int64_t cells =
      verify_bound(bound, lengths_in_cells(padded, rules.capacity_tokens), rules.capacity_tokens);
  RP_ASSERT(
      light, bound.kind != "count" || bound.parts == rules.max_samples,
      "the row proof counts {} samples a cell, {} are allowed", bound.parts, rules.max_samples
  );
  const std::int64_t step = std::int64_t{plan.topology.dp} * plan.row_multiple;
  RP_ASSERT(
      light, round_up(cells, step) / plan.topology.dp == plan.rows.lower_bound_rows,
      "{} cells prove other rows than {}", cells, plan.rows.lower_bound_rows
  );
}

}  // namespace

PolicyMetrics measure_policy(
    const WindowSlice& slice,
    const PaddedLengths& padded,
    const CellLayout& layout,
    const Placement& placement,
    const PlanOptions& options,
    const Communicator& comm
) {
  std::vector<std::int64_t> block_loads =
      all_reduce_sum(sum_block_loads(slice, layout, placement, options.topology), comm);
  return agree_on(
      [&] {
        return compute_metrics(
            sum_cells(layout, padded), std::move(block_loads), slice.shape.num_moe_layers(),
            options.topology, options.cost, cell_rules(options, slice.shape.top_k)
        );
      },
      comm
  );
}

std::string digest_plan(const Plan& plan) {
  DigestBuilder digest;
  digest.add(plan.placement.layers.size());
  for (const LayerPlacement& layer : plan.placement.layers) {
    for (const SlotId slot : layer) {
      digest.add(slot.value());
    }
  }
  digest.add(plan.layout.num_rows);
  for (const CellId cell : plan.layout.cell_of_sample) {
    digest.add(cell.value());
  }
  digest.add(plan.objective.max_shard);
  digest.add(plan.objective.sum_shards);
  digest.add(plan.objective.max_row);
  return to_hex(digest.finish());
}

ShardBound settled_bound(ShardBound bound, const Score& objective, bool enumerated) {
  constexpr double kRounding = 1e-9;
  if (enumerated && bound.max_shard < objective.max_shard * (1.0 - kRounding)) {
    bound.kind = "enumerated";
    bound.max_shard = objective.max_shard;
  }
  if (std::abs(bound.max_shard - objective.max_shard) <= kRounding * objective.max_shard) {
    bound.max_shard = objective.max_shard;
  }
  bound.balanced = std::min(bound.balanced, bound.max_shard);
  return bound;
}

void check_plan(const Plan& plan, const PaddedLengths& padded, const CellRules& rules) {
  std::string fault = find_layout_fault(plan.layout, padded, plan.cost.capacity_tokens);
  if (fault.empty()) {
    fault = find_count_fault(plan.layout, rules);
  }
  RP_ASSERT(light, fault.empty(), "{}", fault);
  check_row_proof(plan, padded, rules);
  validate_placement(plan.placement, plan.window.num_moe_layers(), plan.window.num_experts);
  RP_ASSERT(
      light, plan.layout.num_rows == plan.rows.num_rows, "{} rows are laid out, {} certified",
      plan.layout.num_rows, plan.rows.num_rows
  );
  RP_ASSERT(
      light, plan.rows.num_rows % plan.row_multiple == 0, "{} rows, a multiple of {} is wanted",
      plan.rows.num_rows, plan.row_multiple
  );
  constexpr double kRounding = 1e-9;
  RP_ASSERT(
      light,
      rules.limit_counts() || plan.reorder.rows != plan.routepack.rows ||
          plan.objective.max_shard <= plan.reorder.score.max_shard * (1.0 + kRounding),
      "max_shard {} is worse than {} of reorder", plan.objective.max_shard,
      plan.reorder.score.max_shard
  );
  RP_ASSERT(
      light, plan.lower_bound.max_shard <= plan.objective.max_shard * (1.0 + kRounding),
      "the lower bound {} is above max_shard {}", plan.lower_bound.max_shard,
      plan.objective.max_shard
  );
}

}  // namespace routepack
