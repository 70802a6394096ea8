// The migration front on drifted demand: kept_N% is the share of the gain of free placement over
// the stale one that is left when at most N % of the experts may move. Loads are lognormal with
// sigma 0.8; `drift` in percent is the sigma of what each expert's share changes by. With blocks 0
// the objective is the sum of the layers' peaks, else that of the blocks' peaks.
#include <benchmark/benchmark.h>

#include <cmath>
#include <string>
#include <vector>

#include "placement/make_demand.hpp"
#include "placement/moving/choose_migrations.hpp"

namespace routepack {
namespace {

constexpr int kLayers = 24;
constexpr double kBlockSpread = 0.1;

struct Shape {
  int num_experts;
  int ep;
  int num_blocks;
};

// Blocks of one layer in window 0 or 1; the second has drifted and holds other samples.
std::vector<std::uint32_t> make_blocks(const Shape& shape, double drift, int layer, int window) {
  const Stream stream{static_cast<std::uint64_t>(layer), Purpose::kTests, 21};
  const auto blocks = static_cast<std::size_t>(std::max(shape.num_blocks, 1));
  const std::size_t stride = (blocks + 15) / 16 * 16;
  std::vector<std::uint32_t> demand(static_cast<std::size_t>(shape.num_experts) * stride, 0);
  for (std::size_t expert = 0; expert < static_cast<std::size_t>(shape.num_experts); ++expert) {
    double share = std::exp(0.8 * testing::normal(stream.at(0, expert)));
    if (window == 1) {
      share *= std::exp(drift * testing::normal(stream.at(1, expert)));
    }
    for (std::size_t block = 0; block < blocks; ++block) {
      const RandomBits draw =
          stream.at(static_cast<std::uint32_t>(2 + window), expert * blocks + block);
      const double noise = std::exp(kBlockSpread * testing::normal(draw));
      demand[expert * stride + block] =
          static_cast<std::uint32_t>(std::llround(20'000.0 * share * noise));
    }
  }
  return demand;
}

SwapTrajectory make_trajectory(
    const Shape& shape, const std::vector<std::uint32_t>& blocks, const LayerPlacement& current
) {
  const Stream stream{1, Purpose::kPlacement, 0};
  if (shape.num_blocks > 0) {
    return block_trajectory(blocks, shape.num_blocks, shape.ep, current, {}, stream);
  }
  std::vector<std::int64_t> demand;
  for (std::size_t expert = 0; expert < static_cast<std::size_t>(shape.num_experts); ++expert) {
    demand.push_back(blocks[expert * kBlockLanes]);
  }
  return peak_trajectory(demand, shape.ep, current, {}, stream);
}

void migrate(benchmark::State& state) {
  const Shape shape{
      static_cast<int>(state.range(0)), static_cast<int>(state.range(1)),
      static_cast<int>(state.range(2))};
  const double drift = static_cast<double>(state.range(3)) / 100.0;
  Placement current = identity_placement(kLayers, shape.num_experts, shape.ep);
  IndexVector<MoeLayer, std::vector<std::uint32_t>> blocks;
  for (const MoeLayer layer : ids<MoeLayer>(kLayers)) {
    const auto old = make_blocks(shape, drift, layer.value(), 0);
    current.layers[layer] = make_trajectory(shape, old, current.layers[layer]).free_slots;
    blocks.push_back(make_blocks(shape, drift, layer.value(), 1));
  }
  const std::vector<std::int64_t> budgets = front_budgets(current);
  std::vector<MigrationChoice> front;
  for (auto _ : state) {
    IndexVector<MoeLayer, SwapTrajectory> trajectories;
    for (const MoeLayer layer : ids<MoeLayer>(kLayers)) {
      trajectories.push_back(make_trajectory(shape, blocks[layer], current.layers[layer]));
    }
    front = choose_migrations(trajectories, current, budgets);
  }
  const auto gain = [&](std::size_t point) {
    return static_cast<double>(front[0].objective - front[point].objective);
  };
  state.counters["gain_%"] = 100.0 * gain(6) / static_cast<double>(front[0].objective);
  state.counters["kept_02%"] = 100.0 * gain(2) / gain(6);
  state.counters["kept_05%"] = 100.0 * gain(3) / gain(6);
  state.counters["kept_10%"] = 100.0 * gain(4) / gain(6);
  state.counters["kept_25%"] = 100.0 * gain(5) / gain(6);
  state.counters["free_moves_%"] =
      100.0 * static_cast<double>(front[6].moved_experts) / static_cast<double>(budgets.back());
}

BENCHMARK(migrate)
    ->ArgNames({"E", "ep", "blocks", "drift"})
    ->ArgsProduct({{64}, {8}, {0, 3}, {0, 10, 30}})
    ->ArgsProduct({{128}, {8}, {0, 9}, {0, 10, 30}})
    ->ArgsProduct({{256}, {32}, {0, 24}, {0, 10, 30}})
    ->ArgsProduct({{256}, {64}, {0, 24}, {0, 10, 30}})
    ->ArgsProduct({{512}, {8}, {0, 8}, {0, 10, 30}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace routepack
