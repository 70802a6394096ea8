#include "cli/output.hpp"

namespace routepack::cli {
namespace {

std::string change(double value, double base) {
  return base > 0.0 ? fmt::format("{:+.2f} %", 100.0 * (value / base - 1.0)) : "-";
}

std::string metric_line(const char* name, const Plan& plan, auto&& value_of, const char* format) {
  const auto shown = [&](const PolicyMetrics& metrics) {
    return fmt::format(fmt::runtime(format), value_of(metrics));
  };
  const auto number = [&](const PolicyMetrics& metrics) {
    return static_cast<double>(value_of(metrics));
  };
  return fmt::format(
      "{:<22}{:>13}{:>13}{:>13}{:>13}{:>13}\n", name, shown(plan.baseline), shown(plan.reorder),
      shown(plan.routepack), change(number(plan.routepack), number(plan.baseline)),
      change(number(plan.routepack), number(plan.reorder))
  );
}

std::string certificate_line(const RowCertificate& rows) {
  if (rows.status == RowStatus::kCertified) {
    return fmt::format(
        "rows: {}, certified: fewer are impossible (bound '{}')\n", rows.num_rows, rows.bound.kind
    );
  }
  return fmt::format(
      "rows: {}, best known: at least {} are needed (bound '{}')\n", rows.num_rows,
      rows.lower_bound_rows, rows.bound.kind
  );
}

std::string end_line(const Plan& plan) {
  switch (plan.ended) {
    case SearchEnd::kProved:
      return "the search ended: the plan is proved to have the best max_shard\n";
    case SearchEnd::kGap:
      return "the search ended: the plan is within the gap that was asked for\n";
    case SearchEnd::kBudget:
      return fmt::format("the search ended: its {} sweeps are done\n", plan.search.num_sweeps);
    case SearchEnd::kTime:
      return fmt::format("the search ended: its {} s are over\n", plan.search.time_limit_seconds);
  }
  return {};
}

// How good the plan is has two answers: against what is possible, and against an even load.
std::string bound_lines(const Plan& plan) {
  const ShardBound& bound = plan.lower_bound;
  std::string lines = fmt::format(
      "lower bound of max_shard {:.4f} (bound '{}'): the plan is {:.3f} % above it\n"
      "mean load {:.4f} (if experts could be in several places): the plan is {:.3f} % above it\n",
      bound.max_shard, bound.kind, 100.0 * plan.gap(), bound.balanced,
      100.0 * plan.gap_to_balanced()
  );
  constexpr double kWorthALine = 0.001;
  if (bound.hot_expert_loss >= kWorthALine) {
    lines += fmt::format(
        "{:.1f} % of the experts' time is lost because {}\n", 100.0 * bound.hot_expert_loss,
        plan.constraints.placement == PlacementChoice::kFree ? "an expert cannot be in two places"
                                                             : "the experts stay where they are"
    );
  }
  return lines + end_line(plan);
}

std::string constraint_lines(const Plan& plan) {
  const Constraints& asked = plan.constraints;
  std::string words;
  const auto add = [&words](bool is_asked, const std::string& word) {
    words += is_asked ? fmt::format("{}{}", words.empty() ? "" : ", ", word) : "";
  };
  add(asked.samples_per_slot == SamplesPerSlot::kEqual, "equal numbers of samples a DP slot");
  add(asked.max_samples_per_cell > 0,
      fmt::format("at most {} samples a cell", asked.max_samples_per_cell));
  add(asked.cell_pad_multiple > 1,
      fmt::format(
          "cells filled up to multiples of {}{}", asked.cell_pad_multiple,
          asked.pad_routes == PadRoutes::kSpread ? ", the fill routed" : ""
      ));
  add(asked.placement == PlacementChoice::kCurrent, "the current placement stays");
  add(asked.placement == PlacementChoice::kIdentity, "the identity placement stays");
  std::string lines = words.empty() ? "" : fmt::format("constraints: {}\n", words);
  if (!plan.oversized.empty()) {
    lines += fmt::format(
        "over the capacity, each alone in its cell: {} of the samples, the first is sample {}\n",
        plan.oversized.size(), plan.oversized.front().value()
    );
  }
  return lines;
}

std::string migration_line(const Plan& plan) {
  const std::int64_t all = std::int64_t{plan.window.num_moe_layers()} * plan.window.num_experts;
  std::string line = fmt::format("experts to move: {} of {}", plan.moved_experts, all);
  if (plan.moved_bytes) {
    line += fmt::format(", {:.3f} GB", static_cast<double>(*plan.moved_bytes) * 1e-9);
  }
  return line + '\n';
}

std::string migration_front(const Plan& plan) {
  std::string lines;
  for (const MigrationPoint& point : plan.migration_front) {
    lines += fmt::format(
        "  at most {:>5.1f} % may move: {:>7} do, max_shard {:.4f}\n",
        100.0 * point.max_moved_fraction, point.moved_experts, point.max_shard
    );
  }
  return lines;
}

}  // namespace

std::string plan_table(const Plan& plan) {
  const auto real = [&](const char* name, double PolicyMetrics::*member) {
    return metric_line(
        name, plan, [member](const PolicyMetrics& metrics) { return metrics.*member; }, "{:.4f}"
    );
  };
  const auto score = [&](const char* name, double Score::*member) {
    return metric_line(
        name, plan, [member](const PolicyMetrics& metrics) { return metrics.score.*member; },
        "{:.4f}"
    );
  };
  std::string table = fmt::format(
      "{}{} samples, {} tokens ({} unrouted), {} MoE layers of {} experts, top {}\n",
      plan.window.name.empty() ? "" : plan.window.name + ": ", plan.window.num_samples,
      plan.total_tokens, plan.unrouted_tokens, plan.window.num_moe_layers(),
      plan.window.num_experts, plan.window.top_k
  );
  table += fmt::format(
      "{:<22}{:>13}{:>13}{:>13}{:>13}{:>13}\n", "", "baseline", "reorder", "routepack",
      "vs baseline", "vs reorder"
  );
  table += score("max_shard", &Score::max_shard);
  table += score("sum_shards", &Score::sum_shards);
  table += score("max_row", &Score::max_row);
  table += metric_line(
      "rows", plan, [](const PolicyMetrics& metrics) { return metrics.rows; }, "{}"
  );
  table += real("attention", &PolicyMetrics::attention);
  table += real("ep_peak_sum", &PolicyMetrics::ep_peak_sum);
  table += real("tail_peak", &PolicyMetrics::tail_peak);
  table += real("ep_balance_efficiency", &PolicyMetrics::ep_balance_efficiency);
  table += real("cv_global", &PolicyMetrics::cv_global);
  table += certificate_line(plan.rows);
  table += constraint_lines(plan) + bound_lines(plan);
  return table + migration_line(plan) + migration_front(plan);
}

}  // namespace routepack::cli
