// Plans under the constraints of trainers' contracts: every rule is kept, the figures are those of
// the slow path, and tiny windows get the best plan there is.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "objective/evaluate.hpp"
#include "packing/keep_counts.hpp"
#include "packing/lengths.hpp"
#include "planner/report.hpp"
#include "routepack/planner.hpp"
#include "support/expect_error.hpp"
#include "support/plan_problem.hpp"

namespace routepack::planner {
namespace {

using testing::InstanceShape;
using testing::options_for;
using testing::slice_of;

struct Contract {
  const char* name;
  Constraints constraints;
};

const std::vector<Contract>& contracts() {
  static const std::vector<Contract> all = {
      {"equal", {.samples_per_slot = SamplesPerSlot::kEqual}},
      {"own_row", {.oversize = Oversize::kOwnRow}},
      {"few", {.max_samples_per_cell = 4}},
      {"filled", {.cell_pad_multiple = 20}},
      {"routed_fill", {.cell_pad_multiple = 20, .pad_routes = PadRoutes::kSpread}},
      {"identity", {.placement = PlacementChoice::kIdentity}},
      {"all",
       {SamplesPerSlot::kEqual, Oversize::kOwnRow, 5, 10, PadRoutes::kSpread,
        PlacementChoice::kIdentity}}};
  return all;
}

void PrintTo(const Contract& contract, std::ostream* out) { *out << contract.name; }

class Constrained : public ::testing::TestWithParam<std::tuple<Contract, int>> {
 protected:
  [[nodiscard]] const Constraints& asked() const { return std::get<0>(GetParam()).constraints; }
  [[nodiscard]] int num_shards() const { return std::get<1>(GetParam()); }
  Plan plan_of(const WindowSlice& window, const PlanOptions& options) {
    return make_plan(slice_of(window, world_), options, MPI_COMM_WORLD);
  }
  comm::Communicator world_{MPI_COMM_WORLD};
  comm::Communicator alone_{MPI_COMM_SELF};
};

// More tokens for a sample, all of them routed to experts 0 and 1.
void lengthen(WindowSlice& window, std::size_t sample, std::int64_t tokens) {
  const auto experts = static_cast<std::size_t>(window.shape.num_experts);
  const auto layers = static_cast<std::size_t>(window.shape.num_moe_layers());
  const auto added = static_cast<std::uint32_t>(tokens - window.lengths[sample]);
  window.lengths[sample] = tokens;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const std::size_t first = (sample * layers + layer) * experts;
    window.demand[first] += added;
    window.demand[first + 1] += added;
  }
}

PolicyMetrics measure(
    const WindowSlice& window,
    const CellLayout& layout,
    const Placement& placement,
    const PlanOptions& options
) {
  const packing::PaddedLengths padded = packing::pad_lengths(
      window.lengths, options.pad_multiple, options.cost.capacity_tokens,
      options.constraints.oversize
  );
  return objective::compute_metrics(
      objective::sum_cells(layout, padded),
      objective::sum_block_loads(window, layout, placement, options.topology),
      window.shape.num_moe_layers(), options.topology, options.cost,
      domain::cell_rules(options, window.shape.top_k)
  );
}

TEST_P(Constrained, PlansKeepTheirRulesAtAnyNumberOfRanks) {
  const Topology topology{.dp = 4, .ep = 4 / num_shards()};
  const Constraints& asked = this->asked();
  testing::Draws draws{10 + static_cast<std::uint32_t>(num_shards())};
  WindowSlice window =
      testing::make_window({.num_samples = 48, .num_layers = 3, .num_experts = 8}, draws);
  if (asked.oversize == Oversize::kOwnRow) {  // two samples that no cell can hold
    lengthen(window, 7, 333);
    lengthen(window, 31, 204);
  }
  PlanOptions options = options_for(topology, 200);
  options.constraints = asked;
  const Plan plan = plan_of(window, options);
  const Plan alone = make_plan(window, options, alone_.get());
  EXPECT_EQ(plan.digest, alone.digest);
  const packing::PaddedLengths padded =
      packing::pad_lengths(window.lengths, 1, 200, asked.oversize);
  const domain::CellRules rules = domain::cell_rules(options, window.shape.top_k);
  check_plan(plan, padded, rules);
  EXPECT_EQ(packing::find_count_fault(plan.layout, rules), "");
  EXPECT_EQ(plan.routepack.score, measure(window, plan.layout, plan.placement, options).score);
  EXPECT_EQ(plan.constraints, asked);
  const bool own_row = asked.oversize == Oversize::kOwnRow;
  EXPECT_EQ(
      plan.oversized, own_row ? std::vector({SampleId{7}, SampleId{31}}) : std::vector<SampleId>{}
  );
  if (asked.placement == PlacementChoice::kIdentity) {
    EXPECT_EQ(plan.placement, identity_placement(3, 8, topology.ep));
    EXPECT_EQ(plan.moved_experts, 0);
  }
  EXPECT_LE(plan.lower_bound.max_shard, plan.objective.max_shard * (1.0 + 1e-9));
  EXPECT_GE(plan.rows.num_rows, plan.rows.lower_bound_rows);
}

// Every way to put `n` samples into the cells of a plan.
void for_each_layout(
    int num_rows, int dp, int num_samples, const std::function<void(const CellLayout&)>& visit
) {
  CellLayout layout{
      num_rows, dp, IndexVector<SampleId, CellId>{static_cast<std::size_t>(num_samples)}};
  const int cells = layout.num_cells();
  std::int64_t codes = 1;
  for (int sample = 0; sample < num_samples; ++sample) {
    codes *= cells;
  }
  for (std::int64_t code = 0; code < codes; ++code) {
    std::int64_t rest = code;
    for (CellId& cell : layout.cell_of_sample) {
      cell = CellId{static_cast<std::int32_t>(rest % cells)};
      rest /= cells;
    }
    visit(layout);
  }
}

// The six ways to deal four experts to two EP ranks, at each of two layers: which rank is the first
// matters where the fill of a cell is routed. The identity comes first.
std::vector<Placement> placements_of_four(bool fixed) {
  const std::vector<LayerPlacement> halves = {
      LayerPlacement{{SlotId{0}, SlotId{1}, SlotId{2}, SlotId{3}}},
      LayerPlacement{{SlotId{0}, SlotId{2}, SlotId{1}, SlotId{3}}},
      LayerPlacement{{SlotId{0}, SlotId{2}, SlotId{3}, SlotId{1}}},
      LayerPlacement{{SlotId{2}, SlotId{3}, SlotId{0}, SlotId{1}}},
      LayerPlacement{{SlotId{2}, SlotId{0}, SlotId{3}, SlotId{1}}},
      LayerPlacement{{SlotId{2}, SlotId{0}, SlotId{1}, SlotId{3}}}};
  std::vector<Placement> all;
  for (const LayerPlacement& first : halves) {
    for (const LayerPlacement& second : halves) {
      all.push_back({4, 2, IndexVector<MoeLayer, LayerPlacement>{{first, second}}});
    }
  }
  all.resize(fixed ? 1 : all.size());
  return all;
}

// Scores in floating point: shards that cost the same differ in the last bits, by the order of
// sums.
bool is_better(const Score& score, const Score& than) {
  const bool is_level = std::abs(score.max_shard - than.max_shard) <= 1e-12 * than.max_shard;
  return is_level ? score.sum_shards < than.sum_shards : score.max_shard < than.max_shard;
}

TEST_P(Constrained, TinyWindowsGetTheBestPlanThereIs) {
  const Topology topology{.dp = 2, .ep = 2, .tp = num_shards()};
  const Constraints& asked = this->asked();
  testing::Draws draws{20 + static_cast<std::uint32_t>(num_shards())};
  WindowSlice window =
      testing::make_window({.num_samples = 6, .num_layers = 2, .num_experts = 4}, draws);
  if (asked.oversize == Oversize::kOwnRow) {
    lengthen(window, 4, 150);
  }
  PlanOptions options = options_for(topology, 100);
  options.constraints = asked;
  const Plan plan = plan_of(window, options);
  const packing::PaddedLengths padded =
      packing::pad_lengths(window.lengths, 1, 100, asked.oversize);
  const domain::CellRules rules = domain::cell_rules(options, window.shape.top_k);
  Score best{1e300, 0.0, 0.0};
  for_each_layout(plan.rows.num_rows, 2, 6, [&](const CellLayout& layout) {
    if (!find_layout_fault(layout, padded, 100).empty() ||
        !packing::find_count_fault(layout, rules).empty()) {
      return;
    }
    const bool fixed = asked.placement != PlacementChoice::kFree;
    for (const Placement& placement : placements_of_four(fixed)) {
      const Score score = measure(window, layout, placement, options).score;
      if (is_better(score, best)) {
        best = score;
      }
    }
  });
  EXPECT_NEAR(plan.objective.max_shard, best.max_shard, 1e-9 * best.max_shard);
  EXPECT_NEAR(plan.objective.sum_shards, best.sum_shards, 1e-9 * best.sum_shards);
  EXPECT_EQ(plan.ended, SearchEnd::kProved);
  EXPECT_EQ(plan.gap(), 0.0);
}

INSTANTIATE_TEST_SUITE_P(
    Contracts,
    Constrained,
    ::testing::Combine(::testing::ValuesIn(contracts()), ::testing::Values(1, 2)),
    [](const auto& made) {
      return std::string(std::get<0>(made.param).name) + "_" +
             std::to_string(std::get<1>(made.param)) + "_shards";
    }
);

class Refused : public ::testing::Test {
 protected:
  void expect(
      ErrorCode code, const std::string& text, const std::function<void(PlanOptions&)>& set
  ) {
    testing::Draws draws{13};
    const WindowSlice window = testing::make_window({.num_samples = 21, .num_layers = 2}, draws);
    PlanOptions options = options_for({.dp = 4, .ep = 2}, 200);
    set(options);
    testing::expect_error(code, text, [&] {
      (void)make_plan(slice_of(window, world_), options, MPI_COMM_WORLD);
    });
  }
  comm::Communicator world_{MPI_COMM_WORLD};
};

TEST_F(Refused, EqualSlotsOfAnUnevenNumberSayHowManyPaddingSamplesWouldDo) {
  expect(ErrorCode::kNonemptyCellsImpossible, "3 padding samples would do", [](PlanOptions& o) {
    o.constraints.samples_per_slot = SamplesPerSlot::kEqual;
  });
}

TEST_F(Refused, ACapacityThatIsNoMultipleOfTheCellPadMultiple) {
  expect(ErrorCode::kUsage, "no multiple of the cell pad multiple 3", [](PlanOptions& o) {
    o.constraints.cell_pad_multiple = 3;
  });
}

TEST_F(Refused, ACurrentPlacementThatIsNotGivenOrNotWanted) {
  expect(ErrorCode::kUsage, "it is not given", [](PlanOptions& o) {
    o.constraints.placement = PlacementChoice::kCurrent;
  });
  expect(ErrorCode::kUsage, "the identity asked for", [](PlanOptions& o) {
    o.constraints.placement = PlacementChoice::kIdentity;
    o.current_placement = identity_placement(2, 8, 2);
  });
}

TEST_F(Refused, ALimitOnMovesOfAPlacementThatStays) {
  expect(ErrorCode::kUsage, "a placement that does not move", [](PlanOptions& o) {
    o.constraints.placement = PlacementChoice::kCurrent;
    o.current_placement = identity_placement(2, 8, 2);
    o.migration.max_moved_fraction = 0.5;
  });
}

TEST_F(Refused, NumbersThatAreNone) {
  const auto out_of_range = ErrorCode::kNumberOutOfRange;
  expect(out_of_range, "max_samples_per_cell is -1", [](PlanOptions& o) {
    o.constraints.max_samples_per_cell = -1;
  });
  expect(out_of_range, "target_gap is nan", [](PlanOptions& o) { o.search.target_gap = NAN; });
  expect(out_of_range, "num_chains is -3", [](PlanOptions& o) { o.search.num_chains = -3; });
  expect(out_of_range, "time_limit_seconds is inf", [](PlanOptions& o) {
    o.search.time_limit_seconds = INFINITY;
  });
  expect(out_of_range, "horizon_steps is 0", [](PlanOptions& o) { o.migration.horizon_steps = 0; });
}

class Ends : public Refused {
 protected:
  Plan plan_of(const WindowSlice& window, const PlanOptions& options) {
    return make_plan(slice_of(window, world_), options, MPI_COMM_WORLD);
  }
};

TEST_F(Ends, WithinTheTargetGapAndReproducibly) {
  testing::Draws draws{14};
  const WindowSlice window = testing::make_window({.num_samples = 60, .num_layers = 2}, draws);
  PlanOptions options = options_for({.dp = 4, .ep = 2}, 200);
  const Plan whole = plan_of(window, options);
  ASSERT_EQ(whole.ended, SearchEnd::kBudget);
  EXPECT_EQ(whole.search.num_sweeps, 40);
  options.search.target_gap = whole.gap() + 0.02;
  const Plan early = plan_of(window, options);
  EXPECT_EQ(early.ended, SearchEnd::kGap);
  EXPECT_LT(early.search.num_sweeps, 40);
  EXPECT_LE(early.gap(), options.search.target_gap + 1e-8);
  EXPECT_EQ(make_plan(window, options, MPI_COMM_SELF).digest, early.digest);
}

// Thirty-two equal samples fill eight cells evenly: the start is as good as the mean.
TEST_F(Ends, AtOnceWhereTheStartIsAtTheBound) {
  WindowSlice window;
  window.shape = {32, {}, 1, 0, 0, ""};
  window.lengths.assign(32, 50);
  PlanOptions options = options_for({.dp = 4, .ep = 1}, 200);
  options.search.num_sweeps = 1'000'000;
  const Plan plan = plan_of(window, options);
  EXPECT_EQ(plan.ended, SearchEnd::kProved);
  EXPECT_EQ(plan.gap(), 0.0);
  EXPECT_EQ(plan.search.num_sweeps, 0);
}

// One cell: every layout costs the same, its fill included, which no bound of samples sees.
TEST_F(Ends, AtOnceWhereAllPlansCostTheSame) {
  WindowSlice window;
  window.shape = {20, {}, 1, 0, 0, ""};
  window.lengths.assign(20, 50);
  PlanOptions options = options_for({.dp = 1, .ep = 1}, 2048);
  options.constraints.cell_pad_multiple = 64;
  options.search.num_sweeps = 1'000'000;
  const Plan plan = plan_of(window, options);
  EXPECT_EQ(plan.ended, SearchEnd::kProved);
  EXPECT_EQ(plan.gap(), 0.0);
  EXPECT_EQ(plan.search.num_sweeps, 0);
}

TEST_F(Ends, AtOnceWhereNothingCosts) {
  testing::Draws draws{15};
  const WindowSlice window = testing::make_window({.num_samples = 60, .num_layers = 2}, draws);
  PlanOptions options = options_for({.dp = 4, .ep = 2}, 200);
  options.cost.stages = {};
  options.cost.expert_weight = 0.0;
  options.search.num_sweeps = 1'000'000;
  const Plan plan = plan_of(window, options);
  EXPECT_EQ(plan.ended, SearchEnd::kProved);
  EXPECT_EQ(plan.search.num_sweeps, 0);
}

}  // namespace
}  // namespace routepack::planner
