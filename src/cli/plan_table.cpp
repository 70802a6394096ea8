#include "cli/plan_table.hpp"

#include <fmt/format.h>

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
  table += fmt::format(
      "max_shard is at most {:.3f} % above the lower bound {:.4f} (bound '{}')\n",
      100.0 * plan.gap(), plan.lower_bound.max_shard, plan.lower_bound.kind
  );
  return table + migration_line(plan) + migration_front(plan);
}

}  // namespace routepack::cli
