#include "annealing/cooling.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "random/stream.hpp"
#include "support/random_window.hpp"

namespace routepack::annealing {
namespace {

using testing::Draws;

Energies random_energies(std::size_t count, Draws& draws) {
  Energies energies{count, 0};
  for (std::int64_t& energy : energies) {
    energy = 1'000'000 + draws.below(1000);
  }
  return energies;
}

TEST(Resample, GivesFloorOrCeilingOfTheExpectedCopiesAndKeepsTheCount) {
  Draws draws{1};
  for (int trial = 0; trial < 500; ++trial) {
    SCOPED_TRACE(trial);
    const std::size_t count = 1 + static_cast<std::size_t>(draws.below(40));
    const Energies energies = random_energies(count, draws);
    const double step = static_cast<double>(draws.below(100)) / 5000.0;
    double total = 0.0;
    std::vector<double> weights;
    for (const std::int64_t energy : energies) {
      weights.push_back(std::exp(-step * static_cast<double>(energy - 1'000'000)));
      total += weights.back();
    }
    const auto copies =
        resample(energies, step, static_cast<std::uint32_t>(draws.below(4'000'000'000)));
    EXPECT_EQ(std::accumulate(copies.begin(), copies.end(), 0), static_cast<int>(count));
    for (const ChainId chain : ids<ChainId>(count)) {
      const double expected = static_cast<double>(count) * weights[chain.offset()] / total;
      EXPECT_GE(copies[chain], std::floor(expected - 1e-6));
      EXPECT_LE(copies[chain], std::ceil(expected + 1e-6));
    }
  }
}

TEST(Resample, IsUnbiased) {
  const Energies energies{std::vector<std::int64_t>{0, 100, 200, 300}};
  const double step = 0.005;
  std::vector<double> mean(4, 0.0);
  constexpr int kDraws = 4000;
  for (std::uint32_t draw = 0; draw < kDraws; ++draw) {
    const auto copies = resample(energies, step, draw * (0xffffffffU / kDraws));
    for (std::size_t chain = 0; chain < 4; ++chain) {
      mean[chain] += static_cast<double>(copies.values()[chain]) / kDraws;
    }
  }
  double total = 0.0;
  for (int chain = 0; chain < 4; ++chain) {
    total += std::exp(-step * 100.0 * chain);
  }
  for (std::size_t chain = 0; chain < 4; ++chain) {
    EXPECT_NEAR(mean[chain], 4.0 * std::exp(-0.5 * static_cast<double>(chain)) / total, 0.01);
  }
}

TEST(ParentsOf, SurvivorsStayAndDeadIdsTakeSurplusCopiesAscending) {
  const IndexVector<ChainId, std::int32_t> copies{{0, 3, 0, 1, 2, 0}};
  const auto parents = parents_of(copies);
  EXPECT_EQ(
      parents.values(),
      (std::vector<ChainId>{ChainId{1}, ChainId{1}, ChainId{1}, ChainId{3}, ChainId{4}, ChainId{4}})
  );
}

TEST(FamilyStatistics, CountsDescendants) {
  const FamilyStatistics apart =
      family_statistics(IndexVector<ChainId, std::int32_t>{{0, 1, 2, 3}});
  EXPECT_EQ(apart.num_families, 4);
  EXPECT_DOUBLE_EQ(apart.rho_t, 1.0);
  const FamilyStatistics one = family_statistics(IndexVector<ChainId, std::int32_t>{{2, 2, 2, 2}});
  EXPECT_EQ(one.num_families, 1);
  EXPECT_DOUBLE_EQ(one.rho_t, 4.0);
}

TEST(FindStep, MeetsTheCullingTargetOrTheCap) {
  Draws draws{2};
  for (int trial = 0; trial < 100; ++trial) {
    SCOPED_TRACE(trial);
    const Energies energies = random_energies(32, draws);
    const double step = find_step(energies, 0.07, 1.0);
    EXPECT_NEAR(culling_fraction(energies, step), 0.07, 1e-6);
  }
  const Energies plateau{std::vector<std::int64_t>(8, 5)};
  EXPECT_EQ(find_step(plateau, 0.07, 0.25), 0.25);
}

TEST(Cool, ReachesTheLastTemperatureInTheStagesLeft) {
  Draws draws{3};
  for (int trial = 0; trial < 50; ++trial) {
    SCOPED_TRACE(trial);
    std::int64_t temperature = 1'000'000;
    const std::int64_t last = 1000;
    for (int left = 30; left > 0; --left) {
      const Cooling cooling =
          cool(random_energies(8, draws), temperature, last, left, left % 7 == 0, {});
      EXPECT_LE(cooling.temperature, temperature);
      EXPECT_GE(cooling.step, 0.0);
      temperature = cooling.temperature;
    }
    EXPECT_LT(temperature, 40 * last);
    EXPECT_GE(temperature, last / 40);
  }
}

TEST(SweepsOfStage, SumToTheBudget) {
  for (const std::int64_t sweeps : {0, 1, 7, 48, 1000}) {
    SCOPED_TRACE(sweeps);
    std::int64_t total = 0;
    for (int stage = 0; stage < 24; ++stage) {
      const std::int64_t mine = sweeps_of_stage(sweeps, 24, stage);
      EXPECT_GE(mine, sweeps / 24);
      EXPECT_LE(mine, sweeps / 24 + 1);
      total += mine;
    }
    EXPECT_EQ(total, sweeps);
  }
}

TEST(Acceptance, AcceptsRisesWithTheBoltzmannProbability) {
  const random::Acceptance acceptance{random::Acceptance::make_table()};
  constexpr std::int64_t kTemperature = 1'000'000;
  for (const std::int64_t rise : {100'000, 1'000'000, 3'000'000}) {
    SCOPED_TRACE(rise);
    int accepted = 0;
    constexpr std::uint32_t kDraws = 100'000;
    for (std::uint32_t draw = 0; draw < kDraws; ++draw) {
      const std::uint32_t random = draw * (0xffffffffU / kDraws);
      accepted += acceptance.energy_limit(0, kTemperature, random) >= rise ? 1 : 0;
    }
    const double expected = std::exp(-static_cast<double>(rise) / kTemperature);
    EXPECT_NEAR(accepted, kDraws * expected, 100.0);
  }
  // At temperature 0 nothing above the present energy is accepted, at any draw.
  EXPECT_EQ(acceptance.energy_limit(77, 0, 0), 77);
}

}  // namespace
}  // namespace routepack::annealing
