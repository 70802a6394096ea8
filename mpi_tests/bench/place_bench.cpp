// Time and quality of the aggregate placement: milliseconds for 61 layers on one core beside the
// greedy alone, and the mean gap of the peak to the lower bound in percent.
#include <benchmark/benchmark.h>

#include <vector>

#include "placement/aggregate/bounds.hpp"
#include "placement/aggregate/place_layer.hpp"
#include "placement/aggregate/rank_state.hpp"
#include "placement/make_demand.hpp"

namespace routepack {
namespace {

constexpr int kLayers = 61;

std::vector<std::int64_t> make_layers(testing::Loads loads, int num_experts) {
  std::vector<std::int64_t> all;
  for (std::uint64_t layer = 0; layer < kLayers; ++layer) {
    const std::vector<std::int64_t> one = testing::make_demand(loads, num_experts, layer);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

void set_shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"loads", "E", "ep"})->Unit(benchmark::kMillisecond);
  for (const std::int64_t loads : {0, 1, 2}) {
    for (const auto& [num_experts, ep] :
         {std::pair{64, 8}, {128, 8}, {128, 32}, {256, 16}, {256, 32}, {256, 64}, {512, 64}}) {
      bench->Args({loads, num_experts, ep});
    }
  }
}

void report(benchmark::State& state, double gap_sum, int at_bound) {
  state.counters["gap_%"] = 100.0 * gap_sum / kLayers;
  state.counters["at_bound_%"] = 100.0 * at_bound / kLayers;
  state.counters["per_layer"] = benchmark::Counter(
      kLayers, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert
  );
}

void greedy(benchmark::State& state) {
  const auto num_experts = static_cast<int>(state.range(1));
  const auto ep = static_cast<int>(state.range(2));
  const std::vector<std::int64_t> all =
      make_layers(static_cast<testing::Loads>(state.range(0)), num_experts);
  double gap = 0.0;
  int at_bound = 0;
  for (auto _ : state) {
    gap = 0.0;
    at_bound = 0;
    for (std::size_t layer = 0; layer < kLayers; ++layer) {
      const auto size = static_cast<std::size_t>(num_experts);
      const std::span<const std::int64_t> demand{all.data() + layer * size, size};
      const std::int64_t peak = RankState{demand, place_greedily(demand, ep), ep}.peak();
      const std::int64_t bound = peak_lower_bound(demand, ep);
      gap += static_cast<double>(peak) / static_cast<double>(bound) - 1.0;
      at_bound += peak == bound ? 1 : 0;
    }
  }
  report(state, gap, at_bound);
}

void place(benchmark::State& state) {
  const auto num_experts = static_cast<int>(state.range(1));
  const std::vector<std::int64_t> all =
      make_layers(static_cast<testing::Loads>(state.range(0)), num_experts);
  const std::span<const std::int64_t> demand{all};
  const auto ep = static_cast<int>(state.range(2));
  double gap = 0.0;
  int at_bound = 0;
  for (auto _ : state) {
    gap = 0.0;
    at_bound = 0;
    for (const MoeLayer number : ids<MoeLayer>(kLayers)) {
      const auto experts = static_cast<std::size_t>(num_experts);
      const LayerResult layer = place_layer(
          demand.subspan(number.offset() * experts, experts), ep, nullptr, {},
          Stream{1, Purpose::kPlacement, static_cast<std::uint32_t>(number.value())}
      );
      gap += static_cast<double>(layer.peak) / static_cast<double>(layer.lower_bound) - 1.0;
      at_bound += layer.peak == layer.lower_bound ? 1 : 0;
    }
  }
  report(state, gap, at_bound);
}

BENCHMARK(greedy)->Apply(set_shapes);
BENCHMARK(place)->Apply(set_shapes);

}  // namespace
}  // namespace routepack
