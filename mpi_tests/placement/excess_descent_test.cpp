#include "placement/moving/trajectory.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "placement/make_demand.hpp"

namespace routepack::placement {
namespace {

// Few and many vector steps; where they are many, most blocks of a pair are under the target.
struct Shape {
  int num_experts;
  int ep;
  int num_blocks;
};

class Excess : public ::testing::TestWithParam<Shape> {
 protected:
  // Σ over ranks and blocks of what is above the target, from nothing.
  [[nodiscard]] std::int64_t excess_of(const RankOfExpert& rank_of) const {
    std::int64_t sum = 0;
    for (std::size_t block = 0; block < demand_.stride(); ++block) {
      std::vector<std::int64_t> load(static_cast<std::size_t>(shape_.ep), 0);
      for (const ExpertId expert : ids<ExpertId>(shape_.num_experts)) {
        load[rank_of[expert].offset()] += demand_.of(expert)[block];
      }
      for (const std::int64_t pairs : load) {
        sum += std::max(pairs - std::int64_t{target_[block]}, std::int64_t{0});
      }
    }
    return sum;
  }

  [[nodiscard]] std::int64_t best_neighbour(RankOfExpert rank_of) const {
    std::int64_t best = excess_of(rank_of);
    for (const ExpertId a : ids<ExpertId>(shape_.num_experts)) {
      for (const ExpertId b : ids<ExpertId>(a.value())) {
        std::swap(rank_of[a], rank_of[b]);
        best = std::min(best, excess_of(rank_of));
        std::swap(rank_of[a], rank_of[b]);
      }
    }
    return best;
  }

  Shape shape_ = GetParam();
  std::vector<std::uint32_t> pairs_ =
      testing::make_block_demand(shape_.num_experts, shape_.num_blocks, 100.0, 0.3, 5);
  BlockDemand demand_{pairs_, shape_.num_blocks};
  RankOfExpert start_ =
      ranks_of(identity_placement(1, shape_.num_experts, shape_.ep).layers[MoeLayer{0}], shape_.ep);
  // A tenth above the mean load of each block.
  std::vector<std::uint32_t> target_ = [this] {
    std::vector<std::uint32_t> target(demand_.stride(), 0);
    for (std::size_t at = 0; at < pairs_.size(); ++at) {
      target[at % demand_.stride()] += pairs_[at];
    }
    for (std::uint32_t& pairs : target) {
      pairs = pairs / static_cast<std::uint32_t>(shape_.ep) * 11 / 10;
    }
    return target;
  }();
};

TEST_P(Excess, EveryStepTakesTheBestOfAllSwaps) {
  ExcessDescent descent{demand_, start_, shape_.ep, target_, base::best_simd_level()};
  std::int64_t excess = excess_of(start_);
  int steps = 0;
  while (true) {
    const std::int64_t best = best_neighbour(descent.state().rank_of_experts());
    const std::optional<PricedSwap> swap = descent.step();
    if (!swap) {
      EXPECT_EQ(best, excess);
      break;
    }
    ASSERT_EQ(excess + swap->sum_change, best);
    excess = best;
    ASSERT_EQ(excess_of(descent.state().rank_of_experts()), excess);
    ASSERT_EQ(descent.moved(), count_moved(start_, descent.state().rank_of_experts()));
    ++steps;
  }
  EXPECT_GT(steps, 2);
}

TEST_P(Excess, IsTheSameAtEverySimdLevel) {
  ExcessDescent portable{demand_, start_, shape_.ep, target_, SimdLevel::kPortable};
  while (portable.step()) {
  }
  for (const SimdLevel level : {SimdLevel::kAvx2, SimdLevel::kAvx512}) {
    if (level <= base::best_simd_level()) {
      ExcessDescent other{demand_, start_, shape_.ep, target_, level};
      while (other.step()) {
      }
      EXPECT_EQ(other.state().rank_of_experts(), portable.state().rank_of_experts());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Excess, ::testing::Values(Shape{24, 4, 3}, Shape{24, 4, 20}, Shape{32, 16, 90})
);

}  // namespace
}  // namespace routepack::placement
