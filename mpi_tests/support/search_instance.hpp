// Random instances of the layout problem: a window in memory, projected, with a feasible layout.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "demand/reduce.hpp"
#include "objective/search_problem.hpp"
#include "support/random_window.hpp"

namespace routepack::testing {

struct InstanceShape {
  int num_samples = 40;
  int num_layers = 5;
  int num_experts = 8;
  int top_k = 2;
  Topology topology = {.dp = 4, .ep = 2};
  std::int64_t max_length = 60;
  std::vector<AttentionStage> stages = {{"full", 10.0, 5.0}};
  bool wide = false;
  domain::CellRules rules = {};  // the capacity follows from the lengths
};

struct SearchInstance {
  WindowSlice window;
  domain::OwnedProjectedDemand projected;
  CostModel cost;
  domain::CellRules rules;
  CellLayout layout;  // feasible
  objective::SearchProblem problem;
};

// Every sample prefers experts of its own: top_k of its length go to them, the rest anywhere.
inline WindowSlice make_window(const InstanceShape& shape, Draws& draws) {
  WindowSlice window;
  window.shape.num_samples = shape.num_samples;
  window.shape.num_experts = shape.num_experts;
  window.shape.top_k = shape.top_k;
  window.shape.num_layers = shape.num_layers;
  for (int layer = 0; layer < shape.num_layers; ++layer) {
    window.shape.moe_layers.push_back(layer);
  }
  for (int sample = 0; sample < shape.num_samples; ++sample) {
    const std::int64_t length = 1 + draws.below(shape.max_length);
    window.lengths.push_back(length);
    for (int layer = 0; layer < shape.num_layers; ++layer) {
      std::vector<std::uint32_t> pairs(static_cast<std::size_t>(shape.num_experts), 0);
      const std::int64_t favourite = draws.below(shape.num_experts);
      for (std::int64_t pair = 0; pair < shape.top_k * length; ++pair) {
        const std::int64_t expert = draws.one_in(3) ? favourite : draws.below(shape.num_experts);
        ++pairs[static_cast<std::size_t>(expert)];
      }
      window.demand.insert(window.demand.end(), pairs.begin(), pairs.end());
    }
  }
  return window;
}

// Longest first into the emptiest cell; rows and capacity with some slack.
inline SearchInstance make_instance(const InstanceShape& shape, std::uint32_t key) {
  Draws draws{key};
  SearchInstance instance;
  instance.window = make_window(shape, draws);
  const Placement placement =
      identity_placement(shape.num_layers, shape.num_experts, shape.topology.ep);
  std::vector<std::uint32_t> wide = demand::project_slice(instance.window, placement);
  instance.projected = {
      shape.num_samples,
      shape.topology.ep,
      shape.num_layers,
      domain::padded_layer_count(shape.num_layers),
      {},
      {}};
  if (shape.wide) {
    instance.projected.wide = std::move(wide);
  } else {
    for (const std::uint32_t pairs : wide) {
      instance.projected.narrow.push_back(static_cast<std::uint16_t>(pairs));
    }
  }
  const int rows = std::max(1, shape.num_samples / shape.topology.dp / 4);
  const int cells = rows * shape.topology.dp;
  instance.layout = {
      rows, shape.topology.dp,
      IndexVector<SampleId, CellId>{static_cast<std::size_t>(shape.num_samples)}};
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(cells), 0);
  std::vector<std::int32_t> order;
  for (std::int32_t sample = 0; sample < shape.num_samples; ++sample) {
    order.push_back(sample);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t x, std::int32_t y) {
    return instance.window.lengths[static_cast<std::size_t>(x)] >
           instance.window.lengths[static_cast<std::size_t>(y)];
  });
  for (const std::int32_t sample : order) {
    const auto emptiest = std::min_element(tokens.begin(), tokens.end());
    *emptiest += instance.window.lengths[static_cast<std::size_t>(sample)];
    instance.layout.cell_of_sample[SampleId{sample}] =
        CellId{static_cast<std::int32_t>(emptiest - tokens.begin())};
  }
  instance.cost = {
      base::round_up(
          *std::max_element(tokens.begin(), tokens.end()) * 11 / 10 + 1, shape.rules.pad_multiple
      ),
      shape.stages, 1.0};
  instance.rules = shape.rules;
  instance.rules.capacity_tokens = instance.cost.capacity_tokens;
  return instance;
}

// Filled in here, since the problem points into the instance.
inline void connect(SearchInstance& instance, const Topology& topology) {
  instance.problem = objective::make_search_problem(
      IndexVector<SampleId, std::int64_t>{instance.window.lengths}, instance.projected.view(),
      topology, instance.cost, instance.rules, instance.layout.num_rows
  );
}

}  // namespace routepack::testing
