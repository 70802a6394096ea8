// Seeded layers with the demand of their blocks, and the slow sum of peaks.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "placement/blocks/block_state.hpp"
#include "placement/make_demand.hpp"

namespace routepack::testing {

struct Instance {
  int num_experts;
  int ep;
  int num_blocks;
  std::vector<std::uint32_t> demand;
  std::size_t stride;
  LayerPlacement start;
};

[[nodiscard]] inline LayerPlacement random_layer(std::uint64_t seed, int num_experts) {
  LayerPlacement layer;
  for (const std::int32_t slot :
       random::random_permutation({seed, random::Purpose::kTests, 7}, 0, num_experts)) {
    layer.push_back(SlotId{slot});
  }
  return layer;
}

[[nodiscard]] inline Instance make_instance(
    std::uint64_t seed, int num_experts, int ep, int num_blocks
) {
  return {
      num_experts,
      ep,
      num_blocks,
      make_block_demand(num_experts, num_blocks, 300.0, 0.4, seed),
      (static_cast<std::size_t>(num_blocks) + 15) / 16 * 16,
      random_layer(seed, num_experts)};
}

// One of many shapes: one to several vector steps, few and many experts a rank.
[[nodiscard]] inline Instance draw_instance(std::uint64_t seed) {
  constexpr std::array<std::array<int, 3>, 8> kShapes = {
      {{8, 2, 1},
       {12, 3, 3},
       {16, 4, 16},
       {24, 8, 17},
       {16, 8, 40},
       {32, 16, 80},
       {36, 12, 130},
       {6, 1, 5}}};
  const auto [num_experts, ep, num_blocks] = kShapes[seed % kShapes.size()];
  return make_instance(seed, num_experts, ep, num_blocks);
}

// The oracle: all loads from nothing.
[[nodiscard]] inline std::int64_t sum_peaks(
    const Instance& instance, const placement::RankOfExpert& rank_of
) {
  std::int64_t sum = 0;
  for (std::size_t block = 0; block < instance.stride; ++block) {
    std::vector<std::int64_t> load(static_cast<std::size_t>(instance.ep), 0);
    for (const ExpertId expert : ids<ExpertId>(instance.num_experts)) {
      load[rank_of[expert].offset()] += instance.demand[expert.offset() * instance.stride + block];
    }
    sum += *std::max_element(load.begin(), load.end());
  }
  return sum;
}

// A search's figures are those of the oracle, its slots a permutation, and it is no worse than the
// start.
inline void expect_sound(const Instance& instance, const placement::BlockPlacement& result) {
  const placement::RankOfExpert before = placement::ranks_of(instance.start, instance.ep);
  const placement::RankOfExpert after = placement::ranks_of(result.slots, instance.ep);
  ASSERT_EQ(result.sum_before, sum_peaks(instance, before));
  ASSERT_EQ(result.sum_peaks, sum_peaks(instance, after));
  EXPECT_LE(result.sum_peaks, result.sum_before);
  EXPECT_EQ(result.moved_experts, placement::count_moved(before, after));
  LayerPlacement slots = result.slots;
  std::sort(slots.begin(), slots.end());
  EXPECT_EQ(std::adjacent_find(slots.begin(), slots.end()), slots.end());
}

}  // namespace routepack::testing
