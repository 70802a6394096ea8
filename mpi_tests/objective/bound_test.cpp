#include "objective/bound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "objective/evaluate.hpp"
#include "placement/aggregate/bounds.hpp"
#include "support/search_instance.hpp"

namespace routepack::objective {
namespace {

using Lengths = IndexVector<SampleId, std::int64_t>;

domain::CellRules rules_of(std::int64_t capacity) { return {.capacity_tokens = capacity}; }

// Nothing fits beside a 9; a cell of 2s costs at most 5 * 4. Blocks of two cells (81, 81), (81,
// 20), (20, 20): 182, where the mean is 151.5 and every second cost of the long ones sums to 162.
TEST(AttentionLowerBound, IsTightWhereNothingFillsUpABlockOfLongSamples) {
  std::vector<std::int64_t> lengths(3, 9);
  lengths.insert(lengths.end(), 15, 2);
  const AttentionStage stage{"squares", 0.0, 100.0};
  const AttentionBound bound = attention_lower_bound(Lengths{lengths}, stage, {6, 2}, rules_of(10));
  EXPECT_DOUBLE_EQ(bound.cost, 182.0);
  EXPECT_TRUE(bound.above_mean);
}

TEST(AttentionLowerBound, IsTheMeanWithoutLongSamples) {
  const AttentionStage stage{"full", 100.0, 50.0};
  const AttentionBound bound = attention_lower_bound(
      Lengths{std::vector<std::int64_t>{4, 5, 3, 2}}, stage, {2, 2}, rules_of(10)
  );
  EXPECT_DOUBLE_EQ(bound.cost, (140.0 + 50.0 * 0.54) / 2.0);
  EXPECT_FALSE(bound.above_mean);
  EXPECT_EQ(attention_lower_bound({}, stage, {2, 2}, rules_of(10)).cost, 0.0);
}

// One sample among short ones, none of them beyond half the capacity: its cell costs that at least.
TEST(AttentionLowerBound, SeesTheLongestSample) {
  const AttentionStage stage{"full", 100.0, 300.0};
  std::vector<std::int64_t> lengths(9, 1);
  lengths.push_back(10);
  const AttentionBound bound = attention_lower_bound(Lengths{lengths}, stage, {4, 4}, rules_of(20));
  EXPECT_DOUBLE_EQ(bound.cost, 50.0 + 75.0);
  EXPECT_TRUE(bound.above_mean);
}

// As many cells as samples: their costs in order, cut into blocks.
TEST(AttentionLowerBound, IsExactWhereEveryCellHasOneSample) {
  const AttentionStage stage{"linear", 20.0, 0.0};
  const AttentionBound bound =
      attention_lower_bound(Lengths{{3, 8, 5, 1, 6, 4}}, stage, {6, 2}, rules_of(20));
  EXPECT_DOUBLE_EQ(bound.cost, 8.0 + 5.0 + 3.0);
}

// Cells in the order of their costs, cut into blocks, have the least sum of maxima.
double least_attention(std::vector<double> cells, std::size_t per_shard) {
  std::sort(cells.begin(), cells.end(), std::greater<>());
  double sum = 0.0;
  for (std::size_t first = 0; first < cells.size(); first += per_shard) {
    sum += cells[first];
  }
  return sum;
}

struct Packing {
  std::vector<std::int64_t> lengths;
  AttentionStage stage;
  domain::CellRules rules;
  std::size_t per_shard = 1;
  std::vector<std::int64_t> tokens;  // of every cell
  std::vector<std::int64_t> squares;

  // The least attention of all packings of the samples from `sample` on.
  [[nodiscard]] double best_from(std::size_t sample) {
    if (sample == lengths.size()) {
      std::vector<double> cells;
      for (std::size_t cell = 0; cell < tokens.size(); ++cell) {
        if (tokens[cell] == 0) {
          return 1e300;
        }
        const auto full = static_cast<double>(rules.capacity_tokens);
        const std::int64_t filled = tokens[cell] + rules.fill_of(tokens[cell]);
        cells.push_back(
            stage.alpha * static_cast<double>(filled) / full +
            stage.beta * static_cast<double>(squares[cell]) / full / full
        );
      }
      return least_attention(std::move(cells), per_shard);
    }
    double best = 1e300;
    const std::int64_t length = lengths[sample];
    for (std::size_t cell = 0; cell < tokens.size(); ++cell) {
      const bool was_empty = tokens[cell] == 0;
      if (was_empty || tokens[cell] + length <= rules.capacity_tokens) {
        tokens[cell] += length;
        squares[cell] += length * length;
        best = std::min(best, best_from(sample + 1));
        tokens[cell] -= length;
        squares[cell] -= length * length;
      }
      if (was_empty) {
        break;  // the other empty cells are alike
      }
    }
    return best;
  }
};

// Few short samples between many long ones, so that the bound is often above the mean.
Packing make_packing(testing::Draws& draws) {
  constexpr std::array<double, 3> kAlphas = {0.0, 1.0, 100.0};
  Packing packing;
  packing.rules = rules_of(20);
  packing.rules.pad_multiple = draws.one_in(3) ? 4 : 1;
  packing.stage = {"any", kAlphas.at(static_cast<std::size_t>(draws.below(3))), 50.0};
  packing.per_shard = static_cast<std::size_t>(1 + draws.below(3));
  const std::size_t num_cells = packing.per_shard * static_cast<std::size_t>(1 + draws.below(2));
  packing.tokens.assign(num_cells, 0);
  packing.squares.assign(num_cells, 0);
  const std::int64_t num_samples = 3 + draws.below(6);
  for (std::int64_t sample = 0; sample < num_samples; ++sample) {
    const std::int64_t longest = draws.one_in(10) ? 27 : 20;  // the longer ones stay alone
    packing.lengths.push_back(
        draws.one_in(2) ? 11 + draws.below(longest - 10) : 1 + draws.below(10)
    );
  }
  return packing;
}

TEST(AttentionLowerBound, HoldsForEveryPackingAndIsOftenTight) {
  testing::Draws draws{41};
  int num_tight = 0;
  int num_above_mean = 0;
  for (int instance = 0; instance < 3000; ++instance) {
    Packing packing = make_packing(draws);
    const AttentionBound bound = attention_lower_bound(
        Lengths{packing.lengths}, packing.stage,
        {static_cast<int>(packing.tokens.size()), static_cast<int>(packing.per_shard)},
        packing.rules
    );
    const double best = packing.best_from(0);
    ASSERT_LE(bound.cost, best * (1.0 + 1e-12)) << "instance " << instance;
    if (best < 1e300) {
      num_tight += best <= bound.cost * (1.0 + 1e-12) ? 1 : 0;
      num_above_mean += bound.above_mean ? 1 : 0;
    }
  }
  EXPECT_GT(num_tight, 300);
  EXPECT_GT(num_above_mean, 300);
}

// Four samples on four slots, each a shard of its own: the costliest one is the plan's max_shard.
TEST(MaxShardLowerBound, IsTheCostliestSampleWhereEverySlotHasOne) {
  const Topology topology{.dp = 4, .ep = 1};
  const CostModel cost{100, {{"full", 10.0, 5.0}}, 1.0};
  const Lengths lengths{{90, 40, 17, 5}};
  const Lengths routed{{180, 80, 34, 10}};
  const std::vector<std::int64_t> layer_pairs(3, 304);
  const domain::CellRules rules = rules_of(100);
  const ShardBound bound =
      max_shard_lower_bound({lengths, routed, layer_pairs, layer_pairs, topology, cost, rules, 1});
  EXPECT_DOUBLE_EQ(bound.max_shard, 9.0 + 5.0 * 0.81 + 3 * 1.8);
  EXPECT_EQ(bound.balanced, bound.max_shard);
  EXPECT_EQ(bound.kind, "longest_sample");
}

// The bound against every layout of tiny windows, under many placements of their experts.
TEST(MaxShardLowerBound, HoldsForEveryLayoutAndPlacement) {
  std::map<std::string, int> kinds;
  for (std::uint32_t key = 0; key < 60; ++key) {
    // One shard of two cells, and two shards of one.
    const Topology topology =
        key % 2 == 0 ? Topology{.dp = 2, .ep = 2} : Topology{.dp = 2, .ep = 2, .tp = 2};
    testing::InstanceShape shape{
        .num_samples = 6, .num_layers = 2, .num_experts = 4, .topology = topology};
    if (key % 3 == 0) {
      shape.stages = {{"linear", 20.0, 0.0}, {"full", 5.0, 10.0}};  // maxed separately
    }
    testing::SearchInstance instance = testing::make_instance(shape, key);
    if (key % 4 >= 2) {  // one sample dwarfs the others
      instance.window.lengths[0] += 300;
      instance.cost.capacity_tokens += 360;
    }
    const IndexVector<SampleId, std::int64_t> padded{instance.window.lengths};
    std::vector<std::int64_t> peak_bounds;
    std::vector<std::int64_t> layer_pairs;
    IndexVector<SampleId, std::int64_t> routed_pairs{6U, INT64_MAX};
    for (std::size_t layer = 0; layer < 2; ++layer) {
      std::vector<std::int64_t> total(4, 0);
      for (std::size_t sample = 0; sample < 6; ++sample) {
        std::int64_t pairs = 0;
        for (std::size_t expert = 0; expert < 4; ++expert) {
          pairs += instance.window.demand[(sample * 2 + layer) * 4 + expert];
          total[expert] += instance.window.demand[(sample * 2 + layer) * 4 + expert];
        }
        std::int64_t& fewest = routed_pairs[SampleId{sample}];
        fewest = std::min(fewest, pairs);
      }
      peak_bounds.push_back(placement::peak_lower_bound(total, 2));
      layer_pairs.push_back(std::accumulate(total.begin(), total.end(), std::int64_t{0}));
    }
    const domain::CellRules rules = rules_of(instance.cost.capacity_tokens);
    const ShardBound found = max_shard_lower_bound(
        {padded, routed_pairs, layer_pairs, peak_bounds, topology, instance.cost, rules, 2}
    );
    ++kinds[found.kind];
    EXPECT_LE(found.balanced, found.max_shard);
    EXPECT_GE(found.hot_expert_loss, 0.0);
    EXPECT_LT(found.hot_expert_loss, 1.0);
    const double bound = found.max_shard;
    double best = 1e300;
    CellLayout layout{2, 2, IndexVector<SampleId, CellId>{6U}};
    const LayerPlacement orders[] = {
        LayerPlacement{{SlotId{0}, SlotId{1}, SlotId{2}, SlotId{3}}},
        LayerPlacement{{SlotId{0}, SlotId{2}, SlotId{1}, SlotId{3}}},
        LayerPlacement{{SlotId{0}, SlotId{2}, SlotId{3}, SlotId{1}}}};
    for (int code = 0; code < 4096; ++code) {  // 4 cells, 6 samples
      for (int sample = 0; sample < 6; ++sample) {
        layout.cell_of_sample[SampleId{sample}] = CellId{(code >> (2 * sample)) & 3};
      }
      if (!find_layout_fault(layout, padded, instance.cost.capacity_tokens).empty()) {
        continue;
      }
      for (const LayerPlacement& first : orders) {
        for (const LayerPlacement& second : orders) {
          const Placement placement{4, 2, IndexVector<MoeLayer, LayerPlacement>{{first, second}}};
          best = std::min(
              best, compute_metrics(
                        sum_cells(layout, padded),
                        sum_block_loads(instance.window, layout, placement, topology), 2, topology,
                        instance.cost
                    )
                        .score.max_shard
          );
        }
      }
    }
    EXPECT_LE(bound, best * (1.0 + 1e-12)) << "key " << key;
    EXPECT_GT(bound, 0.5 * best) << "key " << key;  // and it says something
  }
  EXPECT_GT(kinds["longest_sample"], 5);
  EXPECT_GT(kinds["mean_shard_long_samples"], 5);
}

}  // namespace
}  // namespace routepack::objective
