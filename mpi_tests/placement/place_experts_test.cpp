#include "placement/aggregate/place_experts.hpp"

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "placement/make_demand.hpp"

namespace routepack::placement {
namespace {

constexpr int kLayers = 7;
constexpr int kExperts = 48;
constexpr int kRanks = 8;

std::vector<std::int64_t> make_layers() {
  std::vector<std::int64_t> all;
  for (std::uint64_t layer = 0; layer < kLayers; ++layer) {
    const auto one = testing::make_demand(testing::Loads::kLognormal, kExperts, layer);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

class PlaceExperts : public ::testing::Test {
 protected:
  // The error that every rank sees.
  ErrorCode code_of(const PlacementProblem& problem) {
    try {
      static_cast<void>(place_experts(problem, {}, 1, comm_));
    } catch (const Error& error) {
      return error.code();
    }
    ADD_FAILURE() << "no error";
    return ErrorCode::kUsage;
  }

  comm::Communicator comm_{MPI_COMM_WORLD};
  std::vector<std::int64_t> demand_ = make_layers();
  PlacementProblem problem_{demand_, kLayers, kExperts, kRanks};
};

TEST_F(PlaceExperts, GivesWhatOneRankAndOneThreadGive) {
  const Placement current = identity_placement(kLayers, kExperts, kRanks);
  for (const Placement* from : {static_cast<const Placement*>(nullptr), &current}) {
    problem_.current = from;
    const PlacementResult alone =
        place_experts(problem_, {.num_threads = 1}, 5, comm::Communicator{MPI_COMM_SELF});
    for (const int threads : {1, 2, 3}) {
      const PlacementResult together = place_experts(problem_, {.num_threads = threads}, 5, comm_);
      EXPECT_EQ(together.placement, alone.placement);
      EXPECT_EQ(together.peak, alone.peak);
      EXPECT_EQ(together.lower_bound, alone.lower_bound);
      EXPECT_EQ(together.moved_experts, alone.moved_experts);
    }
    validate_placement(alone.placement, kLayers, kExperts);
    EXPECT_EQ(alone.moved_experts, count_moved_experts(current, alone.placement));
  }
}

TEST_F(PlaceExperts, TakesFewerLayersThanRanks) {
  const std::span<const std::int64_t> demand{demand_};
  for (const int layers : {0, 1}) {
    const PlacementProblem few{
        demand.first(static_cast<std::size_t>(layers * kExperts)), layers, kExperts, kRanks};
    EXPECT_EQ(place_experts(few, {}, 1, comm_).peak.size(), static_cast<std::size_t>(layers));
  }
}

TEST_F(PlaceExperts, RefusesProblemsThatCannotBe) {
  problem_.ep = 7;
  EXPECT_EQ(code_of(problem_), ErrorCode::kExpertsNotDivisible);
  problem_.ep = 0;
  EXPECT_EQ(code_of(problem_), ErrorCode::kNumberOutOfRange);
  problem_.ep = kRanks;
  problem_.num_layers = kLayers - 1;
  EXPECT_EQ(code_of(problem_), ErrorCode::kFileMalformed);
  problem_.num_layers = kLayers;
  const Placement other = identity_placement(kLayers - 1, kExperts, kRanks);
  problem_.current = &other;
  EXPECT_EQ(code_of(problem_), ErrorCode::kFileMalformed);
  problem_.current = nullptr;
  demand_[5] = -1;
  EXPECT_EQ(code_of(problem_), ErrorCode::kNumberOutOfRange);
  demand_[5] = demand_[6] = std::int64_t{1} << 62;
  EXPECT_EQ(code_of(problem_), ErrorCode::kNumberOutOfRange);
}

}  // namespace
}  // namespace routepack::placement
