// A small plan with every field set: 3 samples, 2 layers of 4 experts on 2 EP ranks, 2 rows.
#pragma once

#include "routepack/plan.hpp"

namespace routepack::testing {

inline Plan make_test_plan() {
  Plan plan;
  plan.window = {
      .num_samples = 3,
      .moe_layers = {1, 2},
      .num_layers = 3,
      .num_experts = 4,
      .top_k = 2,
      .name = "tiny"};
  plan.total_tokens = 21;
  plan.unrouted_tokens = 3;
  plan.topology = {.dp = 1, .ep = 2, .tp = 2, .pp = 3};
  plan.cost = {16, {{"full", 100.0, 0.1}, {"linear", 1e-300, 0.0}}, 1.0};
  plan.search = {.seed = 18446744073709551615ULL, .num_chains = 8, .num_sweeps = 50};
  plan.row_multiple = 2;
  plan.pad_multiple = 4;
  plan.rows = {2, 2, RowStatus::kCertified, CellBound{}};
  plan.rows.bound.kind = "sum";
  plan.rows.bound.cells = 2;
  plan.placement = identity_placement(2, 4, 2);
  std::swap(
      plan.placement.layers[MoeLayer{1}][ExpertId{0}],
      plan.placement.layers[MoeLayer{1}][ExpertId{3}]
  );
  plan.layout = {
      2, 1, IndexVector<SampleId, CellId>{std::vector<CellId>{CellId{1}, CellId{0}, CellId{1}}}};
  plan.objective = {0.1 + 0.2, 2.0, 1.0 / 3.0};
  plan.lower_bound = {0.25, 0.2, 0.125, "mean_load"};
  plan.ended = SearchEnd::kGap;
  plan.baseline = {{0.6, 3.0, 0.5}, 3, 1.0, 2.0, 0.75, 0.5, 0.4};
  plan.reorder = {{0.4, 2.5, 0.4}, 2, 1.0, 1.5, 0.5, 0.8, 0.0};
  plan.routepack = {plan.objective, 2, 1.0, 1.0, 0.25, 1.0, 0.0};
  plan.moved_experts = 2;
  plan.moved_bytes = 4'000'000'000;
  plan.digest = "0123456789abcdef0123456789abcdef";
  return plan;
}

}  // namespace routepack::testing
