#include "placement/moving/priced_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "placement/aggregate/rank_state.hpp"
#include "placement/block_instance.hpp"
#include "placement/brute_force.hpp"
#include "placement/moving/choose_migrations.hpp"

namespace routepack::placement {
namespace {

using testing::draw_instance;
using testing::Instance;
using testing::make_instance;
using testing::random_layer;
using testing::sum_peaks;

// Follows a path from `home`, checking every figure, and returns where it ends.
RankOfExpert follow(const Instance& instance, const RankOfExpert& home, const SwapPath& path) {
  RankOfExpert rank_of = home;
  for (const SwapStep& step : path) {
    EXPECT_NE(rank_of[step.a], rank_of[step.b]);
    std::swap(rank_of[step.a], rank_of[step.b]);
    EXPECT_EQ(step.objective, sum_peaks(instance, rank_of));
    EXPECT_EQ(step.moved_experts, count_moved(home, rank_of));
  }
  return rank_of;
}

TEST(PathTo, LeadsToTheTargetInFewerSwapsThanMoves) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Instance instance = draw_instance(seed);
    const BlockDemand demand{instance.demand, instance.num_blocks};
    const RankOfExpert home = ranks_of(instance.start, instance.ep);
    const RankOfExpert target =
        ranks_of(random_layer(1000 + seed, instance.num_experts), instance.ep);
    const SwapPath path = path_to(demand, home, target, instance.ep);
    EXPECT_EQ(follow(instance, home, path), target) << "seed " << seed;
    EXPECT_LT(std::ssize(path), std::max<std::int64_t>(count_moved(home, target), 1));
  }
}

std::vector<SwapPath> search(
    const Instance& instance,
    const LayerPlacement& start,
    std::int64_t price,
    SimdLevel simd = base::best_simd_level()
) {
  const random::Stream random{5, random::Purpose::kPerturbation, 0};
  return search_at_price(
      instance.demand, instance.num_blocks, instance.ep,
      {instance.start, start, price, random, simd}
  );
}

TEST(SearchAtPrice, StatesWhatARecountGivesAndIsAFront) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Instance instance = draw_instance(seed);
    const RankOfExpert home = ranks_of(instance.start, instance.ep);
    const LayerPlacement start = random_layer(2000 + seed, instance.num_experts);
    std::int64_t moved = -1;
    std::int64_t sum = std::numeric_limits<std::int64_t>::max();
    for (const SwapPath& path : search(instance, start, 20)) {
      const RankOfExpert end = follow(instance, home, path);
      EXPECT_GT(count_moved(home, end), moved);
      EXPECT_LT(sum_peaks(instance, end), sum);
      moved = count_moved(home, end);
      sum = sum_peaks(instance, end);
    }
    EXPECT_LE(sum, sum_peaks(instance, ranks_of(start, instance.ep))) << "seed " << seed;
  }
}

TEST(SearchAtPrice, IsTheSameWithAnyInstructions) {
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    SCOPED_TRACE(seed);
    const Instance instance = draw_instance(seed);
    const auto best = search(instance, instance.start, 30);
    EXPECT_EQ(search(instance, instance.start, 30, SimdLevel::kPortable), best);
  }
}

// Σ of peaks of the best placement with at most so many moved experts, by that number.
std::vector<std::int64_t> best_by_moves(const Instance& instance) {
  const RankOfExpert home = ranks_of(instance.start, instance.ep);
  std::vector<std::int64_t> best(
      static_cast<std::size_t>(instance.num_experts) + 1, std::numeric_limits<std::int64_t>::max()
  );
  const std::vector<std::int64_t> unused(static_cast<std::size_t>(instance.num_experts), 0);
  testing::for_each_placement(
      unused, instance.ep, true,
      [&](const RankOfExpert& rank_of, std::int64_t) {
        std::int64_t& entry = best[static_cast<std::size_t>(count_moved(home, rank_of))];
        entry = std::min(entry, sum_peaks(instance, rank_of));
      }
  );
  for (std::size_t moved = 1; moved < best.size(); ++moved) {
    best[moved] = std::min(best[moved], best[moved - 1]);
  }
  return best;
}

// What a plan does with a layer: trajectories, then a search around what the budget buys.
std::int64_t plan_layer(const Instance& instance, std::int64_t budget) {
  const random::Stream random{1, random::Purpose::kPlacement, 0};
  Placement current{instance.num_experts, instance.ep, {}};
  current.layers.push_back(instance.start);
  IndexVector<MoeLayer, SwapTrajectory> ways;
  ways.push_back(block_trajectory(
      instance.demand, instance.num_blocks, instance.ep, instance.start, {}, random
  ));
  const std::array budgets = {std::max<std::int64_t>(budget - 1, 0), budget, budget + 1};
  const std::vector<MigrationChoice> choices = choose_migrations(ways, current, budgets);
  const std::int64_t price =
      std::max<std::int64_t>((choices[0].objective - choices[2].objective) / 2, 1);
  for (SwapPath& path : search(instance, choices[1].placement.layers[MoeLayer{0}], price)) {
    ways[MoeLayer{0}].paths.push_back(std::move(path));
  }
  return choose_migrations(ways, current, std::array{budget}).front().objective;
}

TEST(SearchAtPrice, FindsTheBestPlacementOfTinyLayersForAlmostEveryBudget) {
  int found = 0;
  int tried = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Instance instance =
        seed % 2 == 0 ? make_instance(seed, 8, 4, 3) : make_instance(seed, 9, 3, 4);
    const std::vector<std::int64_t> best = best_by_moves(instance);
    for (std::int64_t budget = 0; budget <= instance.num_experts; ++budget) {
      const std::int64_t sum = plan_layer(instance, budget);
      EXPECT_GE(sum, best[static_cast<std::size_t>(budget)]) << "seed " << seed;
      found += sum == best[static_cast<std::size_t>(budget)] ? 1 : 0;
      ++tried;
    }
  }
  EXPECT_GE(100 * found, 95 * tried) << found << " of " << tried;
}

// Σ of peaks of the best placement with exactly the experts of `chosen`, or fewer, moved: every way
// to permute them over their ranks.
std::int64_t best_permutation(
    const Instance& instance, const RankOfExpert& home, const std::vector<ExpertId>& chosen
) {
  std::vector<std::size_t> order(chosen.size());
  std::iota(order.begin(), order.end(), 0U);
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  RankOfExpert rank_of = home;
  do {
    for (std::size_t n = 0; n < chosen.size(); ++n) {
      rank_of[chosen[n]] = home[chosen[order[n]]];
    }
    best = std::min(best, sum_peaks(instance, rank_of));
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

std::int64_t best_with(const Instance& instance, std::size_t moves) {
  const RankOfExpert home = ranks_of(instance.start, instance.ep);
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  std::vector<ExpertId> chosen;
  const auto choose = [&](const auto& self, int first) -> void {
    if (chosen.size() == moves) {
      best = std::min(best, best_permutation(instance, home, chosen));
      return;
    }
    for (int expert = first; expert < instance.num_experts; ++expert) {
      chosen.push_back(ExpertId{expert});
      self(self, expert + 1);
      chosen.pop_back();
    }
  };
  choose(choose, 0);
  return best;
}

// With four experts a rank, two or three moves are a tenth of them. Three experts that have to
// change places at once are missed where no swap of two leads there; what that costs stays small.
TEST(SearchAtPrice, ComesNearTheBestFewMovesOfLayersWithThirtyTwoExperts) {
  int found = 0;
  double ratio = 0.0;  // of what the best moves save, the part that was found
  constexpr int kSeeds = 10;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Instance instance = make_instance(seed, 32, 8, 8);
    const std::int64_t before = sum_peaks(instance, ranks_of(instance.start, instance.ep));
    for (const std::int64_t moves : {2, 3}) {
      const std::int64_t sum = plan_layer(instance, moves);
      const std::int64_t best = best_with(instance, static_cast<std::size_t>(moves));
      EXPECT_GE(sum, best) << "seed " << seed;
      found += sum == best ? 1 : 0;
      ratio += static_cast<double>(before - sum) / static_cast<double>(before - best);
    }
  }
  EXPECT_GE(found, 15) << "of " << 2 * kSeeds;
  EXPECT_GE(ratio / (2 * kSeeds), 0.95);
  RecordProperty("mean_part_of_the_gain", std::to_string(ratio / (2 * kSeeds)));
}

}  // namespace
}  // namespace routepack::placement
