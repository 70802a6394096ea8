// What a caller of make_plan can get wrong, on one rank or on all: an error on every rank.
#include "planner/plan_inputs.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "base/check.hpp"
#include "planner/planner.hpp"
#include "support/expect_error.hpp"
#include "support/plan_problem.hpp"

namespace routepack::planner {
namespace {

using testing::expect_error;
using testing::options_for;
using testing::slice_of;

class PlanInputs : public ::testing::Test {
 protected:
  using Change = std::function<void(PlanOptions&, WindowSlice&)>;

  PlanInputs() {
    testing::Draws draws{3};
    const WindowSlice window = testing::make_window({.num_samples = 30, .num_experts = 8}, draws);
    slice_ = slice_of(window, comm_);
    options_.current_placement =
        identity_placement(window.shape.num_moe_layers(), window.shape.num_experts, 2);
  }

  // Of all ranks, or of the last alone.
  void expect_refused(
      ErrorCode code, const std::string& text, const Change& change, bool on_last_only = false
  ) const {
    PlanOptions options = options_;
    WindowSlice slice = slice_;
    if (!on_last_only || comm_.mpi_rank() == last_) {
      change(options, slice);
    }
    expect_error(code, text, [&] { (void)make_plan(slice, options, comm_.get()); });
  }
  void expect_differs(const std::string& text, const Change& change) const {
    if (last_ > 0) {
      SCOPED_TRACE(text);
      expect_refused(ErrorCode::kInputDisagreement, text, change, true);
    }
  }

  const comm::Communicator comm_{MPI_COMM_WORLD};
  const int last_ = comm_.num_mpi_ranks() - 1;
  PlanOptions options_ = options_for({.dp = 4, .ep = 2}, 200);
  WindowSlice slice_;
};

TEST_F(PlanInputs, EveryOptionThatDecidesThePlanMustBeEqual) {
  const std::vector<Change> changes = {
      [](PlanOptions& o, auto&) { o.topology.dp = 8; },
      [](PlanOptions& o, auto&) { o.topology.ep = 4; },
      [](PlanOptions& o, auto&) { o.topology.tp = 2; },
      [](PlanOptions& o, auto&) { o.topology.cp = 2; },
      [](PlanOptions& o, auto&) { o.topology.pp = 2; },
      [](PlanOptions& o, auto&) { o.topology.etp = 2; },
      [](PlanOptions& o, auto&) { o.cost.capacity_tokens = 201; },
      [](PlanOptions& o, auto&) { o.cost.stages[0].alpha *= 1.0 + 1e-15; },
      [](PlanOptions& o, auto&) { o.cost.stages[0].beta = 0.0; },
      [](PlanOptions& o, auto&) {
        o.cost.stages.push_back({"sliding", 1.0, 0.0});
      },
      [](PlanOptions& o, auto&) { o.cost.expert_weight = 2.0; },
      [](PlanOptions& o, auto&) { o.row_multiple = 2; },
      [](PlanOptions& o, auto&) { o.pad_multiple = 2; },
      [](PlanOptions& o, auto&) { o.constraints.samples_per_slot = SamplesPerSlot::kEqual; },
      [](PlanOptions& o, auto&) { o.constraints.oversize = Oversize::kOwnRow; },
      [](PlanOptions& o, auto&) { o.constraints.max_samples_per_cell = 9; },
      [](PlanOptions& o, auto&) { o.constraints.cell_pad_multiple = 2; },
      [](PlanOptions& o, auto&) { o.constraints.pad_routes = PadRoutes::kSpread; },
      [](PlanOptions& o, auto&) { o.constraints.placement = PlacementChoice::kCurrent; },
      [](PlanOptions& o, auto&) { o.search.seed = 2; },
      [](PlanOptions& o, auto&) { o.search.num_chains = 5; },
      [](PlanOptions& o, auto&) { o.search.num_sweeps = 41; },
      [](PlanOptions& o, auto&) { o.search.time_limit_seconds = 1.0; },
      [](PlanOptions& o, auto&) { o.search.target_gap = 0.1; },
      [](PlanOptions& o, auto&) { o.migration.cost_per_expert = 0.1; },
      [](PlanOptions& o, auto&) { o.migration.horizon_steps = 2; },
      [](PlanOptions& o, auto&) { o.migration.max_moved_fraction = 0.5; },
      [](PlanOptions& o, auto&) { o.migration.bytes_per_expert = 1; },
      [](PlanOptions& o, auto&) { o.current_placement.reset(); },
      [](PlanOptions& o, auto&) {
        LayerPlacement& layer = o.current_placement->layers[MoeLayer{0}];
        std::swap(layer[ExpertId{0}], layer[ExpertId{1}]);
      },
      [](auto&, WindowSlice& s) { s.shape.num_samples += 1; },
      [](auto&, WindowSlice& s) { s.shape.moe_layers.back() += 1; },
      [](auto&, WindowSlice& s) { s.shape.num_layers += 1; },
      [](auto&, WindowSlice& s) { s.shape.num_experts += 1; },
      [](auto&, WindowSlice& s) { s.shape.top_k += 1; },
  };
  for (const Change& change : changes) {
    expect_differs(" on rank 0 and ", change);
  }
  expect_differs(fmt::format("num_sweeps is 40 on rank 0 and 41 on rank {}", last_), changes[21]);
}

TEST_F(PlanInputs, SpeedAndNamesMayDiffer) {
  const Plan expected = make_plan(slice_, options_, comm_.get());
  PlanOptions options = options_;
  WindowSlice slice = slice_;
  PlanRun run;
  if (comm_.mpi_rank() == last_) {
    run.seconds_spent = 0.5;
    options.search.num_threads = 2;
    options.search.max_simd = SimdLevel::kPortable;
    slice.shape.name = "a copy";
  }
  EXPECT_EQ(make_plan(slice, options, run, comm_.get()).digest, expected.digest);
}

// On one rank alone: the others must hear of it.
TEST_F(PlanInputs, TimeSpentThatNoProgramHas) {
  for (const double seconds : {std::nan(""), -1.0, 1e10}) {
    const PlanRun run{{}, comm_.mpi_rank() == last_ ? seconds : 0.0};
    expect_error(ErrorCode::kNumberOutOfRange, "seconds_spent", [&] {
      (void)make_plan(slice_, options_, run, comm_.get());
    });
  }
}

TEST_F(PlanInputs, NumbersThatNoPlanHas) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  const std::vector<Change> changes = {
      [](PlanOptions& o, auto&) { o.topology.dp = 0; },
      [](PlanOptions& o, auto&) { o.topology.ep = -2; },
      [](PlanOptions& o, auto&) { o.topology.tp = 0; },
      [](PlanOptions& o, auto&) { o.cost.capacity_tokens = 0; },
      [](PlanOptions& o, auto&) { o.cost.capacity_tokens = kHuge; },
      [](PlanOptions& o, auto&) { o.cost.stages[0].alpha = kNan; },
      [](PlanOptions& o, auto&) { o.cost.expert_weight = -1.0; },
      [](PlanOptions& o, auto&) { o.row_multiple = 0; },
      [](PlanOptions& o, auto&) { o.row_multiple = std::numeric_limits<int>::max(); },
      [](PlanOptions& o, auto&) { o.pad_multiple = 0; },
      [](PlanOptions& o, auto&) { o.pad_multiple = kHuge; },
      [](PlanOptions& o, auto&) { o.search.num_chains = -1; },
      [](PlanOptions& o, auto&) { o.search.num_sweeps = -1; },
      [](PlanOptions& o, auto&) { o.search.num_sweeps = kHuge; },
      [](PlanOptions& o, auto&) { o.search.num_threads = -1; },
      [](PlanOptions& o, auto&) { o.search.num_threads = 1'000'000; },
      [](PlanOptions& o, auto&) { o.search.max_simd = static_cast<SimdLevel>(9); },
      [](PlanOptions& o, auto&) { o.search.time_limit_seconds = kNan; },
      [](PlanOptions& o, auto&) { o.search.time_limit_seconds = -1.0; },
      [](PlanOptions& o, auto&) { o.search.time_limit_seconds = kInfinity; },
      [](PlanOptions& o, auto&) { o.search.target_gap = -0.1; },
      [](PlanOptions& o, auto&) { o.search.target_gap = kInfinity; },
      [](PlanOptions& o, auto&) { o.migration.cost_per_expert = kNan; },
      [](PlanOptions& o, auto&) { o.migration.horizon_steps = 0; },
      [](PlanOptions& o, auto&) { o.migration.max_moved_fraction = 1.5; },
      [](PlanOptions& o, auto&) { o.migration.bytes_per_expert = kHuge; },
      [](auto&, WindowSlice& s) { s.shape.num_samples = -1; },
      [](auto&, WindowSlice& s) { s.shape.num_experts = 1 << 20; },
      [](auto&, WindowSlice& s) { s.shape.top_k = 0; },
      [](auto&, WindowSlice& s) { s.shape.top_k = s.shape.num_experts + 1; },
      [](auto&, WindowSlice& s) { s.shape.num_layers = s.shape.moe_layers.back(); },
      [](auto&, WindowSlice& s) { s.shape.moe_layers.back() = s.shape.moe_layers.front(); },
      [](auto&, WindowSlice& s) { s.shape.moe_layers.front() = -1; },
  };
  for (std::size_t at = 0; at < changes.size(); ++at) {
    SCOPED_TRACE(at);
    expect_refused(ErrorCode::kNumberOutOfRange, "", changes[at]);
  }
}

TEST_F(PlanInputs, SlicesThatAreNoWindow) {
  // On one rank alone: the others must hear of it.
  if (!slice_.lengths.empty()) {
    expect_refused(
        ErrorCode::kUsage, "entries of demand", [](auto&, WindowSlice& s) { s.demand.pop_back(); },
        true
    );
    expect_refused(
        ErrorCode::kZeroLengthSample, "has no tokens",
        [](auto&, WindowSlice& s) { s.lengths[0] = 0; }, true
    );
    expect_refused(
        ErrorCode::kNumberOutOfRange, "tokens at top",
        [](auto&, WindowSlice& s) { s.lengths[0] = -5; }, true
    );
    expect_refused(
        ErrorCode::kNumberOutOfRange, "routed pairs at MoE layer",
        [](auto&, WindowSlice& s) { s.demand[0] = 0xffffffff; }, true
    );
    expect_refused(
        ErrorCode::kNumberOutOfRange, "unrouted_tokens",
        [](auto&, WindowSlice& s) { s.unrouted_tokens = -1; }, true
    );
  }
  expect_refused(
      ErrorCode::kUsage, "begins at sample", [](auto&, WindowSlice& s) { s.first_sample += 1; },
      true
  );
  expect_refused(
      ErrorCode::kUsage, "the slices of all ranks have 30 samples, the window 31",
      [](auto&, WindowSlice& s) { s.shape.num_samples += 1; }
  );
}

TEST_F(PlanInputs, APlacementThatContradictsItself) {
  expect_refused(ErrorCode::kTopologyMismatch, "ep = 4", [](PlanOptions& o, auto&) {
    o.current_placement->ep = 4;
  });
  expect_refused(ErrorCode::kFileMalformed, "", [](PlanOptions& o, auto&) {
    o.current_placement->num_experts = 0;
  });
  expect_refused(ErrorCode::kFileMalformed, "", [](PlanOptions& o, auto&) {
    o.current_placement->layers.values().pop_back();
  });
}

TEST_F(PlanInputs, NoCommunicatorIsAnError) {
  expect_error(ErrorCode::kUsage, "MPI_COMM_NULL", [&] {
    (void)make_plan(slice_, options_, MPI_COMM_NULL);
  });
}

// The observer speaks on the root alone; its exceptions must not keep the root from the others.
TEST_F(PlanInputs, AnObserverThatThrowsIsIgnored) {
  const PlanObserver observer{
      [](const SearchProgress&) { throw std::runtime_error("progress"); },
      [](const std::string&) { throw 7; }};
  const Plan expected = make_plan(slice_, options_, comm_.get());
  EXPECT_EQ(make_plan(slice_, options_, comm_.get(), observer).digest, expected.digest);
}

}  // namespace
}  // namespace routepack::planner
