// Time and gain of placement for the blocks of a layout, by descent and by annealing, for the
// layers of one window, on one core: sum_gain_% is what it lowers of Σ over blocks of the peaks,
// after the placement on the aggregate demand.
#include <benchmark/benchmark.h>

#include <vector>

#include "placement/aggregate/place_layer.hpp"
#include "placement/blocks/block_annealer.hpp"
#include "placement/make_demand.hpp"
#include "placement/moving/block_descent.hpp"

namespace routepack {
namespace {

struct Layer {
  std::vector<std::uint32_t> demand;
  LayerPlacement start;
};

// Layers of correlated blocks, placed on their aggregate.
std::vector<Layer> make_window(int num_layers, int num_experts, int ep, int num_blocks) {
  std::vector<Layer> window;
  for (int number = 0; number < num_layers; ++number) {
    const auto seed = static_cast<std::uint64_t>(number);
    Layer layer{testing::make_block_demand(num_experts, num_blocks, 4000.0, 0.25, seed), {}};
    std::vector<std::int64_t> total;
    const std::size_t stride = layer.demand.size() / static_cast<std::size_t>(num_experts);
    for (std::size_t at = 0; at < layer.demand.size(); ++at) {
      if (at % stride == 0) {
        total.push_back(0);
      }
      total.back() += layer.demand[at];
    }
    layer.start =
        placement::place_layer(total, ep, nullptr, {}, {seed, random::Purpose::kPlacement, 0})
            .slots;
    window.push_back(std::move(layer));
  }
  return window;
}

void refine(benchmark::State& state) {
  const auto num_layers = static_cast<int>(state.range(0));
  const auto num_experts = static_cast<int>(state.range(1));
  const auto ep = static_cast<int>(state.range(2));
  const auto num_blocks = static_cast<int>(state.range(3));
  const auto max_passes = static_cast<int>(state.range(4));
  const std::vector<Layer> window = make_window(num_layers, num_experts, ep, num_blocks);
  double before = 0.0;
  double after = 0.0;
  for (auto _ : state) {
    before = after = 0.0;
    for (const Layer& layer : window) {
      const placement::BlockPlacement result = placement::refine_layer(
          layer.demand, num_blocks, ep, layer.start, {.max_passes = max_passes}
      );
      before += static_cast<double>(result.sum_before);
      after += static_cast<double>(result.sum_peaks);
    }
  }
  state.counters["sum_gain_%"] = 100.0 * (1.0 - after / before);
}

// The same by annealing: gain for time, beside the descent.
void anneal(benchmark::State& state) {
  const auto num_layers = static_cast<int>(state.range(0));
  const auto num_experts = static_cast<int>(state.range(1));
  const auto ep = static_cast<int>(state.range(2));
  const auto num_blocks = static_cast<int>(state.range(3));
  const std::vector<Layer> window = make_window(num_layers, num_experts, ep, num_blocks);
  const random::Acceptance acceptance{random::Acceptance::make_table()};
  double before = 0.0;
  double after = 0.0;
  for (auto _ : state) {
    before = after = 0.0;
    for (std::size_t layer = 0; layer < window.size(); ++layer) {
      const random::Stream random{1, random::Purpose::kTests, static_cast<std::uint32_t>(layer)};
      const placement::BlockPlacement result = placement::anneal_layer(
          window[layer].demand, num_blocks, ep, window[layer].start,
          {state.range(4), random, 0, acceptance}
      );
      before += static_cast<double>(result.sum_before);
      after += static_cast<double>(result.sum_peaks);
    }
  }
  state.counters["sum_gain_%"] = 100.0 * (1.0 - after / before);
}

// Shapes of known windows: DeepSeek-V2-Lite, Ling-Tiny, Ling-Flash, Qwen3-30B, gpt-oss-20b,
// DeepSeek-V3, and a large one.
BENCHMARK(refine)
    ->ArgNames({"layers", "E", "ep", "blocks", "passes"})
    ->ArgsProduct({{26}, {64}, {8}, {3}, {4, 8}})
    ->ArgsProduct({{23}, {128}, {8}, {9}, {4, 8}})
    ->ArgsProduct({{40}, {512}, {8}, {8}, {4, 8}})
    ->ArgsProduct({{48}, {128}, {8}, {20}, {4, 8}})
    ->ArgsProduct({{24}, {32}, {8}, {18}, {4, 8}})
    ->ArgsProduct({{58}, {256}, {32}, {24}, {4, 8}})
    ->ArgsProduct({{61}, {256}, {64}, {512}, {4, 8}})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(anneal)
    ->ArgNames({"layers", "E", "ep", "blocks", "moves"})
    ->ArgsProduct({{26}, {64}, {8}, {3}, {2'500, 10'000, 40'000}})
    ->ArgsProduct({{23}, {128}, {8}, {9}, {2'500, 10'000, 40'000}})
    ->ArgsProduct({{40}, {512}, {8}, {8}, {2'500, 10'000, 40'000}})
    ->ArgsProduct({{48}, {128}, {8}, {20}, {2'500, 10'000, 40'000}})
    ->ArgsProduct({{24}, {32}, {8}, {18}, {2'500, 10'000, 40'000}})
    ->ArgsProduct({{58}, {256}, {32}, {24}, {2'500, 10'000, 40'000}})
    ->ArgsProduct({{61}, {256}, {64}, {512}, {2'500, 10'000, 40'000}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace routepack
