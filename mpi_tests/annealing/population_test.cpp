// The population over MPI: its best, its restarts, its deadlines. That it finds the same at any
// number of ranks and threads: planner/stages_test.cpp.
#include "annealing/population.hpp"

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "support/expect_error.hpp"
#include "support/search_instance.hpp"

namespace routepack::annealing {
namespace {

using testing::connect;
using testing::make_instance;
using testing::SearchInstance;

// Thrown by threads inside a parallel region, on the ranks that hold chains 2 and 5.
TEST(Population, EveryRankThrowsWhatAChainThrows) {
  const comm::Communicator world(MPI_COMM_WORLD);
  SearchInstance instance = make_instance({}, 11);
  connect(instance, Topology{.dp = 4, .ep = 2});
  const auto make_start = [&](ChainId chain) {
    RP_CHECK(chain.value() % 3 != 2, ErrorCode::kUsage, "no start for chain {}", chain.value());
    return instance.layout;
  };
  testing::expect_error(ErrorCode::kUsage, "no start for chain 2", [&] {
    const Population population(
        instance.problem, make_start, {5, 8, 2, SimdLevel::kPortable}, {}, world
    );
  });
}

// Without resampling a chain's path depends on no other, so that more chains are never worse.
TEST(Population, ChainsThatNeverMeetAreIndependent) {
  const comm::Communicator world(MPI_COMM_WORLD);
  SearchInstance instance = make_instance({.num_samples = 60, .num_layers = 9}, 15);
  connect(instance, Topology{.dp = 4, .ep = 2});
  const auto best_of = [&](int chains, bool resample) {
    domain::Tuning tuning;
    tuning.population.resample = resample;
    Population population(
        instance.problem, [&](ChainId) { return instance.layout; },
        {5, chains, 1, base::best_simd_level()}, tuning, world
    );
    const std::int64_t scale = population.mean_change();
    const base::Stopwatch clock;
    population.anneal({scale / 2, scale / 500, 12, 24, 0.0}, clock, {});
    return population.best_score();
  };
  // Chain 0 follows the same path in any number, so more chains can only be better.
  objective::SearchScore before = best_of(1, false);
  EXPECT_EQ(best_of(1, true), before);
  bool differs = false;
  for (const int chains : {2, 4, 8}) {
    const objective::SearchScore score = best_of(chains, false);
    EXPECT_LE(score, before) << chains << " chains";
    differs = differs || best_of(chains, true) != score;
    before = score;
  }
  EXPECT_TRUE(differs);
}

TEST(Population, NeverLosesItsBestAndReportsARecount) {
  const comm::Communicator world(MPI_COMM_WORLD);
  SearchInstance instance = make_instance({.num_samples = 60, .num_layers = 9}, 12);
  connect(instance, Topology{.dp = 4, .ep = 2});
  const objective::SearchState start(instance.problem, instance.layout, SimdLevel::kPortable);
  Population population(
      instance.problem, [&](ChainId) { return instance.layout; },
      {5, 4, 1, base::best_simd_level()}, {}, world
  );
  EXPECT_EQ(population.best_score(), start.score());
  const std::int64_t scale = population.mean_change();
  EXPECT_GT(scale, 0);
  objective::SearchScore before = population.best_score();
  const base::Stopwatch clock;
  for (int round = 0; round < 4; ++round) {
    SCOPED_TRACE(round);
    // Hotter than any start: the chains leave the best layout behind.
    population.anneal({4 * scale, scale, 3, 6, 0.0}, clock, {});
    EXPECT_LE(population.best_score(), before);
    before = population.best_score();
    const objective::SearchState recount(
        instance.problem, population.best_layout(), SimdLevel::kPortable
    );
    EXPECT_EQ(recount.score(), before);
  }
  population.anneal({scale / 5, scale / 500, 10, 40, 0.0}, clock, {});
  EXPECT_LT(population.best_score(), start.score());
}

TEST(Population, RebaseKeepsLayoutsAndCountsThemAnew) {
  const comm::Communicator world(MPI_COMM_WORLD);
  SearchInstance instance = make_instance({.num_samples = 40, .num_layers = 4}, 13);
  connect(instance, Topology{.dp = 4, .ep = 2});
  SearchInstance other = make_instance({.num_samples = 40, .num_layers = 4}, 13);
  other.cost.expert_weight = 3.0;
  connect(other, Topology{.dp = 4, .ep = 2});
  Population population(
      instance.problem, [&](ChainId) { return instance.layout; },
      {1, 3, 1, base::best_simd_level()}, {}, world
  );
  const base::Stopwatch clock;
  population.anneal({1 << 20, 1 << 10, 4, 4, 0.0}, clock, {});
  const CellLayout best = population.best_layout();
  population.rebase(other.problem);
  EXPECT_EQ(population.best_layout().cell_of_sample, best.cell_of_sample);
  const objective::SearchState recount(other.problem, best, SimdLevel::kPortable);
  EXPECT_EQ(population.best_score(), recount.score());
}

TEST(Population, ADeadlineEndsARoundOnEveryRank) {
  const comm::Communicator world(MPI_COMM_WORLD);
  SearchInstance instance = make_instance({}, 14);
  connect(instance, Topology{.dp = 4, .ep = 2});
  Population population(
      instance.problem, [&](ChainId) { return instance.layout; },
      {1, 2, 1, base::best_simd_level()}, {}, world
  );
  const base::Stopwatch clock;
  population.anneal({1 << 20, 1 << 10, 8, 0, 0.2}, clock, {});
  EXPECT_GT(population.sweeps_done(), 0);
  EXPECT_LT(clock.seconds(), 20.0);  // generous: machines are shared
  const std::int64_t done = population.sweeps_done();
  population.anneal({1 << 20, 1 << 10, 8, 0, 0.05}, clock, {});  // already over
  EXPECT_EQ(population.sweeps_done(), done);
}

// Ranks 0 … n-1 hold chains in blocks; whatever resampling asks for, counts stay level.
TEST(LevelOwners, MovesAsFewChainsAsLevelCountsNeed) {
  testing::Draws draws{9};
  for (int trial = 0; trial < 300; ++trial) {
    SCOPED_TRACE(trial);
    const int chains = 1 + static_cast<int>(draws.below(20));
    const int ranks = 1 + static_cast<int>(draws.below(6));
    const ChainOwners owners = deal_chains(chains, ranks);
    IndexVector<ChainId, ChainId> parents{static_cast<std::size_t>(chains)};
    for (ChainId& parent : parents) {
      parent = ChainId{static_cast<std::int32_t>(draws.below(chains))};
    }
    const ChainOwners after = level_owners(parents, owners, ranks);
    std::vector<int> with_parent(static_cast<std::size_t>(ranks), 0);
    std::vector<int> held(static_cast<std::size_t>(ranks), 0);
    int moved = 0;
    for (const ChainId chain : ids<ChainId>(chains)) {
      ++with_parent[static_cast<std::size_t>(owners[parents[chain]])];
      ++held[static_cast<std::size_t>(after[chain])];
      moved += after[chain] != owners[parents[chain]] ? 1 : 0;
    }
    int surplus = 0;  // above the ceiling, or above the floor once the extras are taken
    const int floor = chains / ranks;
    int extras = chains % ranks;
    for (const int count : with_parent) {
      const int keeps_extra = count > floor && extras > 0 ? 1 : 0;
      extras -= keeps_extra;
      surplus += std::max(0, count - floor - keeps_extra);
    }
    EXPECT_EQ(moved, surplus);
    for (const int count : held) {
      EXPECT_GE(count, floor);
      EXPECT_LE(count, floor + 1);
    }
  }
}

}  // namespace
}  // namespace routepack::annealing
