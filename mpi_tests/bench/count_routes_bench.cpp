// Bytes of token routes read from a file in the page cache and counted per second on one core,
// beside a plain read (sum) of the same bytes: how far counting is from the memory limit.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "demand/count.hpp"
#include "random/stream.hpp"
#include "support/test_window.hpp"

namespace routepack {
namespace {

struct Model {
  int layers;
  int experts;
  int top_k;
};

// A window's folder, its files in the page cache: samples of equal length, every line drawn without
// repetition.
template <class T>
class SyntheticWindow {
 public:
  SyntheticWindow(Model model, std::int64_t num_bytes, std::int64_t length) {
    const std::int64_t ids_per_token = std::int64_t{model.layers} * model.top_k;
    const std::int64_t num_samples =
        num_bytes / (ids_per_token * static_cast<std::int64_t>(sizeof(T)) * length);
    testing::TestWindow window;
    window.num_experts = model.experts;
    window.top_k = model.top_k;
    window.moe_layers.resize(static_cast<std::size_t>(model.layers));
    std::iota(window.moe_layers.begin(), window.moe_layers.end(), 0);
    window.num_layers = window.axis = model.layers;
    window.lengths.assign(static_cast<std::size_t>(num_samples), length);
    window.row_counts = window.lengths;
    window.write(folder_.path());
    const std::vector<T> ids = draw_ids(model, num_samples * length * model.layers);
    write_npy(
        folder_.file("routed_experts.npy"), std::span<const T>(ids),
        {num_samples * length, model.layers, model.top_k}
    );
    num_bytes_ = static_cast<std::int64_t>(std::as_bytes(std::span(ids)).size());
  }

  [[nodiscard]] const std::string& folder() const { return folder_.path(); }
  [[nodiscard]] std::int64_t num_bytes() const { return num_bytes_; }  // of the routes

 private:
  static std::vector<T> draw_ids(Model model, std::int64_t num_lines) {
    std::vector<T> ids;
    const Stream stream{1, Purpose::kTests, 0};
    for (std::int64_t line = 0; line < num_lines; ++line) {
      // An arithmetic progression of odd step modulo a power of two repeats nothing.
      const RandomBits draw = stream.at(0, static_cast<std::uint64_t>(line));
      const auto experts = static_cast<std::uint32_t>(model.experts);
      std::uint32_t id = draw.below(0, experts);
      const std::uint32_t step = 2 * draw.below(1, experts / 2) + 1;
      for (int slot = 0; slot < model.top_k; ++slot) {
        ids.push_back(static_cast<T>(id));
        id = (id + step) % experts;
      }
    }
    return ids;
  }

  testing::TempFolder folder_;
  std::int64_t num_bytes_ = 0;
};

constexpr std::int64_t kBytes = std::int64_t{128} << 20U;

// Arguments: layers, experts, top_k, tokens a sample.
template <class T>
void bench_count(benchmark::State& state) {
  const Model model{
      static_cast<int>(state.range(0)), static_cast<int>(state.range(1)),
      static_cast<int>(state.range(2))};
  const SyntheticWindow<T> window(model, kBytes, state.range(3));
  const WindowHeader header = open_window(window.folder());
  for ([[maybe_unused]] auto iteration : state) {
    const RouteFile routes(header);
    const CountedDemand counted = count_routes(routes.view(), {0, header.shape.num_samples});
    benchmark::DoNotOptimize(counted.demand.data());
  }
  state.SetBytesProcessed(state.iterations() * window.num_bytes());
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
BENCHMARK(bench_count<std::uint16_t>)->Args(kLingFlash)->Unit(benchmark::kMillisecond);
BENCHMARK(bench_count<std::uint32_t>)->Args(kDeepSeekV3)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace routepack
