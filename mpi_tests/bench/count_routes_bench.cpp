// Bytes of token routes counted per second on one core, beside a plain read (sum) of the same
// bytes: how far counting is from the memory limit.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "demand/count_routes.hpp"
#include "random/stream.hpp"

namespace routepack {
namespace {

struct Model {
  int layers;
  int experts;
  int top_k;
};

// A window in memory: samples of equal length, every line drawn without repetition.
template <class T>
class SyntheticRoutes {
 public:
  SyntheticRoutes(Model model, std::int64_t num_bytes, std::int64_t length)
      : layers_(static_cast<std::size_t>(model.layers)) {
    std::iota(layers_.begin(), layers_.end(), 0);
    const std::int64_t ids_per_token = std::int64_t{model.layers} * model.top_k;
    const std::int64_t num_samples =
        num_bytes / (ids_per_token * static_cast<std::int64_t>(sizeof(T)) * length);
    lengths_.assign(static_cast<std::size_t>(num_samples), length);
    for (std::int64_t sample = 0; sample <= num_samples; ++sample) {
      offsets_.push_back(sample * length);
    }
    const Stream stream{1, Purpose::kTests, 0};
    for (std::int64_t line = 0; line < num_samples * length * model.layers; ++line) {
      // An arithmetic progression of odd step modulo a power of two repeats nothing.
      const Block draw = stream.at(0, static_cast<std::uint64_t>(line));
      const auto experts = static_cast<std::uint32_t>(model.experts);
      std::uint32_t id = draw.below(0, experts);
      const std::uint32_t step = 2 * draw.below(1, experts / 2) + 1;
      for (int slot = 0; slot < model.top_k; ++slot) {
        ids_.push_back(static_cast<T>(id));
        id = (id + step) % experts;
      }
    }
    view_.ids.name = "bench";
    view_.ids.dtype = npy_dtype<T>();
    view_.ids.shape = {num_samples * length, model.layers, model.top_k};
    view_.ids.data = std::as_bytes(std::span(ids_));
    view_.axis_size = model.layers;
    view_.top_k = model.top_k;
    view_.num_experts = model.experts;
    view_.moe_layers = layers_;
    view_.runs = {{0, 0, model.layers}};
    view_.lengths = lengths_;
    view_.row_offsets = offsets_;
  }
  SyntheticRoutes(const SyntheticRoutes&) = delete;
  SyntheticRoutes& operator=(const SyntheticRoutes&) = delete;

  [[nodiscard]] const RouteView& view() const { return view_; }
  [[nodiscard]] std::int64_t num_samples() const {
    return static_cast<std::int64_t>(lengths_.size());
  }

 private:
  std::vector<int> layers_;
  std::vector<T> ids_;
  std::vector<std::int64_t> lengths_;
  std::vector<std::int64_t> offsets_;
  RouteView view_;
};

constexpr std::int64_t kBytes = std::int64_t{128} << 20U;

// Arguments: layers, experts, top_k, tokens a sample.
template <class T>
void bench_count(benchmark::State& state) {
  const Model model{
      static_cast<int>(state.range(0)), static_cast<int>(state.range(1)),
      static_cast<int>(state.range(2))};
  const SyntheticRoutes<T> routes(model, kBytes, state.range(3));
  for ([[maybe_unused]] auto iteration : state) {
    const CountedDemand counted = count_routes(routes.view(), {0, routes.num_samples()});
    benchmark::DoNotOptimize(counted.demand.data());
  }
  const auto bytes = static_cast<std::int64_t>(routes.view().ids.data.size());
  state.SetBytesProcessed(state.iterations() * bytes);
}

void bench_plain_read(benchmark::State& state) {
  const std::vector<std::uint64_t> words(static_cast<std::size_t>(kBytes) / 8, 3);
  for ([[maybe_unused]] auto iteration : state) {
    benchmark::DoNotOptimize(std::accumulate(words.begin(), words.end(), std::uint64_t{0}));
  }
  state.SetBytesProcessed(state.iterations() * kBytes);
}

constexpr std::initializer_list<std::int64_t> kLingTiny = {23, 128, 8, 1024};
constexpr std::initializer_list<std::int64_t> kDeepSeekV3 = {58, 256, 8, 4096};
constexpr std::initializer_list<std::int64_t> kGptOss = {24, 32, 4, 1024};
constexpr std::initializer_list<std::int64_t> kShortSamples = {58, 256, 8, 128};
constexpr std::initializer_list<std::int64_t> kLingFlash = {40, 512, 8, 1024};

BENCHMARK(bench_plain_read)->Unit(benchmark::kMillisecond);
BENCHMARK(bench_count<std::uint8_t>)
    ->Args(kLingTiny)
    ->Args(kDeepSeekV3)
    ->Args(kGptOss)
    ->Args(kShortSamples)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(bench_count<std::int16_t>)->Args(kLingFlash)->Unit(benchmark::kMillisecond);
BENCHMARK(bench_count<std::int32_t>)->Args(kDeepSeekV3)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace routepack
