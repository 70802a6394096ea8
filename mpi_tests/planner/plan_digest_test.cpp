// One digest of a plan over MPI ranks, threads and SIMD levels.
#include <gtest/gtest.h>

#include <vector>

#include "comm/communicator.hpp"
#include "routepack/planner.hpp"
#include "support/plan_problem.hpp"

namespace routepack::planner {
namespace {

struct Workers {
  SimdLevel simd;
  int threads;
};

// The plan of one portable thread, against that of all ranks. Two layer groups and EP 4; with a
// current placement, moving experts has a price.
void expect_one_digest(
    const WindowSlice& window,
    PlanOptions options,
    const std::vector<Workers>& all_workers,
    const comm::Communicator& world
) {
  const comm::Communicator alone(MPI_COMM_SELF);
  options.search.max_simd = SimdLevel::kPortable;
  options.search.num_threads = 1;
  const Plan expected = make_plan(window, options, alone.get());
  EXPECT_GT(expected.moved_experts, 0);
  for (const Workers& workers : all_workers) {
    options.search.max_simd = workers.simd;
    options.search.num_threads = workers.threads;
    const Plan got = make_plan(testing::slice_of(window, world), options, world.get());
    EXPECT_EQ(got.digest, expected.digest)
        << "level " << static_cast<int>(workers.simd) << ", " << workers.threads << " threads";
  }
}

class PlanDigest : public ::testing::Test {
 protected:
  PlanDigest() {
    testing::Draws draws{7};
    window_ = testing::make_window({.num_samples = 30, .num_layers = 18, .num_experts = 8}, draws);
    options_.topology = {.dp = 4, .ep = 4};
    options_.cost = {200, {{"full", 10.0, 5.0}}, 1.0};
    options_.search.num_sweeps = 4;
    options_.search.num_chains = 3;
  }
  comm::Communicator world_{MPI_COMM_WORLD};
  WindowSlice window_;
  PlanOptions options_;
};

TEST_F(PlanDigest, IsTheSameOnAnyRanksThreadsAndSimdLevels) {
  expect_one_digest(
      window_, options_,
      {{SimdLevel::kPortable, 2},
       {SimdLevel::kAvx2, 1},
       {SimdLevel::kAvx512, 2},
       {SimdLevel::kAvx512, 4096}},  // of which the cores' share is started
      world_
  );
}

TEST_F(PlanDigest, IsTheSameWithACurrentPlacement) {
  options_.current_placement = identity_placement(18, 8, 4);
  options_.migration = {.cost_per_expert = 0.001, .max_moved_fraction = 0.5};
  expect_one_digest(window_, options_, {{SimdLevel::kAvx512, 2}}, world_);
}

}  // namespace
}  // namespace routepack::planner
