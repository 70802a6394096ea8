#include "planner/report.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/check.hpp"
#include "base/digest.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "objective/evaluate.hpp"
#include "packing/bounds.hpp"
#include "packing/keep_counts.hpp"

namespace routepack::planner {
namespace {

constexpr double kRounding = 1e-9;  // of figures that are computed in two ways, relative

// The figures of a policy.
PolicyMetrics measure_policy(
    const PlanContext& context, const CellLayout& layout, const Placement& placement
) {
  const WindowSlice& slice = context.slice;
  const PlanOptions& options = context.options;
  std::vector<std::int64_t> block_loads = comm::all_reduce_sum(
      objective::sum_block_loads(slice, layout, placement, options.topology), context.comm
  );
  return comm::agree_on(
      [&] {
        return objective::compute_metrics(
            objective::sum_cells(layout, context.padded), std::move(block_loads),
            slice.shape.num_moe_layers(), options.topology, options.cost, context.rules
        );
      },
      context.comm
  );
}

// Of placement, cells and objective: equal plans have equal digests.
std::string digest_plan(const Plan& plan) {
  base::DigestBuilder digest;
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
  return base::to_hex(digest.finish());
}

// The bound as the plan states it: the objective itself where the two differ by rounding alone, or
// where all plans have been looked at (kind "enumerated").
ShardBound settled_bound(ShardBound bound, const Score& objective, bool enumerated) {
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

void check_row_proof(
    const Plan& plan, const packing::PaddedLengths& padded, const domain::CellRules& rules
) {
  const CellBound& bound = plan.rows.bound;
  const std::int64_t cells = packing::verify_bound(
      bound, packing::lengths_in_cells(padded, rules.capacity_tokens), rules.capacity_tokens
  );
  RP_ASSERT(
      light, bound.kind != "count" || bound.parts == rules.max_samples,
      "the row proof counts {} samples a cell, {} are allowed", bound.parts, rules.max_samples
  );
  const std::int64_t step = std::int64_t{plan.topology.dp} * plan.row_multiple;
  RP_ASSERT(
      light, base::round_up(cells, step) / plan.topology.dp == plan.rows.lower_bound_rows,
      "{} cells prove other rows than {}", cells, plan.rows.lower_bound_rows
  );
}

// What a plan says of the window, of what was asked for, and of what was found.
Plan collect_plan(
    const PlanContext& context, const domain::WindowDemand& window, const SearchOutput& found
) {
  const PlanOptions& options = context.options;
  Plan plan;
  plan.window = context.slice.shape;
  plan.total_tokens = window.total_tokens;
  plan.unrouted_tokens = window.unrouted_tokens;
  plan.topology = options.topology;
  plan.cost = options.cost;
  plan.row_multiple = options.row_multiple;
  plan.pad_multiple = options.pad_multiple;
  plan.constraints = options.constraints;
  plan.oversized = packing::find_oversized(context.padded, options.cost.capacity_tokens);
  plan.search = found.search;
  plan.ended = found.ended;
  plan.rows = context.rows.certificate;
  plan.placement = found.placement;
  plan.layout = found.layout;
  plan.migration_front = found.front;
  plan.moved_experts = count_moved_experts(context.before, plan.placement);
  if (options.migration.bytes_per_expert > 0) {
    plan.moved_bytes = plan.moved_experts * options.migration.bytes_per_expert;
  }
  return plan;
}

template <class Argument>
std::function<void(const Argument&)> shielded(std::function<void(const Argument&)> call) {
  if (!call) {
    return call;
  }
  return [call = std::move(call)](const Argument& argument) noexcept {
    try {
      call(argument);
    } catch (...) {  // a report that fails changes no plan
    }
  };
}

}  // namespace

Plan describe_plan(
    const PlanContext& context, const domain::WindowDemand& window, const SearchOutput& found
) {
  Plan plan = collect_plan(context, window, found);
  const Placement identity =
      identity_placement(plan.window.num_moe_layers(), plan.window.num_experts, plan.topology.ep);
  plan.baseline = measure_policy(context, context.first_fit, identity);
  plan.reorder = measure_policy(context, context.first_fit, context.aggregate);
  plan.routepack = measure_policy(context, plan.layout, plan.placement);
  plan.objective = plan.routepack.score;
  plan.lower_bound = settled_bound(context.bound, plan.objective, found.enumerated);
  plan.digest = digest_plan(plan);
  comm::agree_same(plan.digest, "the plan", context.comm);
  comm::agree_on([&] { check_plan(plan, context.padded, context.rules); }, context.comm);
  return plan;
}

void check_plan(
    const Plan& plan, const packing::PaddedLengths& padded, const domain::CellRules& rules
) {
  std::string fault = find_layout_fault(plan.layout, padded, plan.cost.capacity_tokens);
  if (fault.empty()) {
    fault = packing::find_count_fault(plan.layout, rules);
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

PlanObserver without_exceptions(PlanObserver observer) {
  return {shielded(std::move(observer.progress)), shielded(std::move(observer.log))};
}

}  // namespace routepack::planner
