// The incremental evaluation against a rebuild, and against the costs that plans report.
#include "objective/search_state.hpp"

#include <gtest/gtest.h>

#include "annealing/chain.hpp"
#include "objective/evaluate.hpp"
#include "support/search_instance.hpp"

namespace routepack::objective {
namespace {

using testing::connect;
using testing::InstanceShape;
using testing::make_instance;
using testing::SearchInstance;

struct Instance {
  const char* name;
  std::uint32_t key;  // of what is drawn
  InstanceShape shape;
};

void PrintTo(const Instance& instance, std::ostream* out) { *out << instance.name; }

const std::vector<Instance>& instances() {
  static const std::vector<Instance> all = {
      {"TwoShards", 0, {}},
      {"OneShard", 1, {.topology = {.dp = 2, .ep = 2}}},
      {"FourShardsOfTwoLayerGroups", 2, {.num_layers = 20, .topology = {.dp = 8, .ep = 2}}},
      {"TwoDpSlotsAShard", 3, {.num_layers = 33, .topology = {.dp = 4, .ep = 8, .tp = 4}}},
      {"OneCellABlock", 4, {.topology = {.dp = 3, .ep = 4, .tp = 4}}},
      {"TwoStages", 5, {.stages = {{"kda", 20.0, 0.0}, {"mla", 3.0, 9.0}}}},
      {"ExpertsAlone", 6, {.stages = {}}},
      {"WideDemand", 7, {.wide = true}},
      {"FewLongSamples", 8, {.num_samples = 12, .max_length = 2000, .wide = true}},
      {"FewSamplesACell", 9, {.rules = {.max_samples = 5}}},
      {"EqualSlots", 10, {.topology = {.dp = 4, .ep = 4}, .rules = {.equal_slots = true}}},
      {"FilledCells", 11, {.rules = {.pad_multiple = 16}}},
      {"RoutedFill",
       12,
       {.topology = {.dp = 8, .ep = 4}, .rules = {.pad_multiple = 8, .pairs_per_fill = 3}}},
      {"RoutedFillOfWideDemand",
       13,
       {.num_layers = 20,
        .topology = {.dp = 2, .ep = 2},
        .wide = true,
        .rules = {.pad_multiple = 32, .pairs_per_fill = 2}}},
  };
  return all;
}

class SearchStates : public ::testing::TestWithParam<Instance> {};

std::vector<int> samples_by_slot(const CellLayout& layout) {
  std::vector<int> held(static_cast<std::size_t>(layout.dp), 0);
  for (const CellId cell : layout.cell_of_sample) {
    ++held[layout.slot_of(cell).offset()];
  }
  return held;
}

int largest_cell(const CellLayout& layout) {
  std::size_t largest = 0;
  for (const std::vector<SampleId>& samples : samples_by_cell(layout)) {
    largest = std::max(largest, samples.size());
  }
  return static_cast<int>(largest);
}

TEST_P(SearchStates, EqualsARebuildAfterEveryMove) {
  const InstanceShape& shape = GetParam().shape;
  const std::uint32_t key = GetParam().key;
  SearchInstance instance = make_instance(shape, key);
  connect(instance, shape.topology);
  const annealing::MoveProposer proposer(instance.problem, {});
  const random::Stream random{key, random::Purpose::kTests, 0};
  SearchState state(instance.problem, instance.layout, base::best_simd_level());
  const int largest_at_start = largest_cell(instance.layout);
  const std::vector<int> in_slots = samples_by_slot(instance.layout);
  int applied = 0;
  for (std::uint64_t number = 0; number < 3000; ++number) {
    const std::optional<Move> move = proposer.propose(random.at(0, number), state);
    if (!move) {
      continue;
    }
    const Outcome outcome = state.evaluate(*move, INT64_MAX);
    if (outcome.rejected) {
      continue;
    }
    state.apply(*move, outcome);
    ++applied;
    const SearchState rebuilt(instance.problem, state.layout(), SimdLevel::kPortable);
    ASSERT_EQ(state.score(), rebuilt.score()) << "move " << number;
    ASSERT_EQ(state.score(), outcome.score);
    if (shape.rules.equal_slots) {
      ASSERT_EQ(samples_by_slot(state.layout()), in_slots);
    }
    ASSERT_LE(largest_cell(state.layout()), std::max(largest_at_start, shape.rules.max_samples));
    ASSERT_EQ(
        find_layout_fault(state.layout(), instance.problem.lengths, instance.rules.capacity_tokens),
        ""
    );
  }
  EXPECT_GT(applied, 100);
}

TEST_P(SearchStates, ALimitNeverChangesADecision) {
  const InstanceShape& shape = GetParam().shape;
  const std::uint32_t key = 100 + GetParam().key;
  SearchInstance instance = make_instance(shape, key);
  connect(instance, shape.topology);
  const annealing::MoveProposer proposer(instance.problem, {});
  const random::Stream random{key, random::Purpose::kTests, 0};
  SearchState state(instance.problem, instance.layout, base::best_simd_level());
  int limited = 0;
  for (std::uint64_t number = 0; number < 3000; ++number) {
    const random::RandomBits block = random.at(0, number);
    const std::optional<Move> move = proposer.propose(block, state);
    if (!move) {
      continue;
    }
    const Outcome free = state.evaluate(*move, INT64_MAX);
    if (free.rejected) {
      continue;
    }
    // From far below to far above the present energy, the outcome itself included.
    const std::int64_t energy = state.energy();
    const std::int64_t limits[] = {
        free.energy, free.energy - 1, energy, energy - energy / 100,
        energy + energy / 1000 * static_cast<std::int64_t>(block.below(3, 20))};
    for (const std::int64_t limit : limits) {
      const Outcome outcome = state.evaluate(*move, limit);
      ASSERT_EQ(outcome.rejected, free.energy > limit) << "move " << number;
      limited += outcome.rejected ? 1 : 0;
      if (!outcome.rejected) {
        ASSERT_EQ(outcome.score, free.score);
      }
    }
    if (free.energy <= energy) {
      state.apply(*move, free);
    }
  }
  EXPECT_GT(limited, 100);
}

TEST_P(SearchStates, ScoresAreTheReportedCosts) {
  const InstanceShape& shape = GetParam().shape;
  const std::uint32_t key = 200 + GetParam().key;
  SearchInstance instance = make_instance(shape, key);
  connect(instance, shape.topology);
  const SearchState state(instance.problem, instance.layout, SimdLevel::kPortable);
  const Placement placement =
      identity_placement(shape.num_layers, shape.num_experts, shape.topology.ep);
  const PolicyMetrics metrics = compute_metrics(
      sum_cells(instance.layout, instance.problem.lengths),
      sum_block_loads(instance.window, instance.layout, placement, shape.topology),
      shape.num_layers, shape.topology, instance.cost, instance.rules
  );
  const double units = instance.problem.units_per_cost;
  EXPECT_NEAR(
      static_cast<double>(state.score().max_shard) / units, metrics.score.max_shard,
      1e-9 * metrics.score.max_shard
  );
  EXPECT_NEAR(
      static_cast<double>(state.score().sum_shards) / units, metrics.score.sum_shards,
      1e-9 * metrics.score.sum_shards
  );
}

INSTANTIATE_TEST_SUITE_P(
    Shapes,
    SearchStates,
    ::testing::ValuesIn(instances()),
    [](const auto& instance) { return std::string(instance.param.name); }
);

}  // namespace
}  // namespace routepack::objective
