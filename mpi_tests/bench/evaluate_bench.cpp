// Nanoseconds per evaluated move beside the memory limit: one-for-one swaps between two different
// blocks, without a limit, so that both blocks' loads are read to the end; random pairs of samples.
//   bytes       12 a padded (layer, EP rank): two u16 samples, two u32 loads
//   copy_GB/s   read plus written by memcpy, source and target together as large as the working set
//   floor_ns    bytes at that rate; over_floor = ns a move / floor_ns
// Moves and copies alternate and medians are taken, so that noise meets both.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "base/simd.hpp"
#include "objective/search_state.hpp"
#include "random/stream.hpp"

namespace routepack {
namespace {

constexpr std::size_t kMoves = 2048;  // a pass; drawn beforehand, so only evaluations are timed
constexpr int kBlocks = 64;           // of one cell each
constexpr std::int64_t kLength = 100;

struct Shape {
  int num_layers;
  int ep;
  int num_samples;
};

// Samples of equal length, dealt round over the blocks, with 50 to 99 pairs an element.
class Instance {
 public:
  explicit Instance(const Shape& shape) {
    demand_.num_samples = shape.num_samples;
    demand_.ep = shape.ep;
    demand_.num_layers = shape.num_layers;
    demand_.padded_layers = domain::padded_layer_count(shape.num_layers);
    const auto num_samples = static_cast<std::size_t>(shape.num_samples);
    const random::Stream stream{1, random::Purpose::kTests, 31};
    const auto padded = static_cast<std::size_t>(demand_.padded_layers);
    demand_.narrow.resize(num_samples * demand_.view().sample_stride(), 0);
    for (std::size_t at = 0; at < demand_.narrow.size(); ++at) {
      if (at % padded < static_cast<std::size_t>(shape.num_layers)) {
        const std::uint32_t word = stream.at(0, at / 4).word(at % 4);
        demand_.narrow[at] = static_cast<std::uint16_t>(50 + word % 50);
      }
    }
    layout_ = {kBlocks, 1, IndexVector<SampleId, CellId>{num_samples}};
    for (const SampleId sample : ids<SampleId>(num_samples)) {
      layout_.cell_of_sample[sample] = CellId{sample.value() % kBlocks};
    }
    const std::int64_t capacity = kLength * shape.num_samples;
    problem_ = objective::make_search_problem(
        IndexVector<SampleId, std::int64_t>{num_samples, kLength}, demand_.view(), Topology{},
        {capacity, {{"full", 100.0, 50.0}}, 1.0}, {.capacity_tokens = capacity}, kBlocks
    );
    const auto bound = static_cast<std::uint32_t>(shape.num_samples);
    for (std::uint64_t draw = 0; moves_.size() < kMoves; ++draw) {
      const random::RandomBits random = stream.at(1, draw);
      const SampleId a{static_cast<std::int32_t>(random.below(0, bound))};
      const SampleId b{static_cast<std::int32_t>(random.below(1, bound))};
      const objective::Move move{
          layout_.cell_of_sample[a], layout_.cell_of_sample[b], 1, 1, {a}, {b}};
      if (move.cell_a != move.cell_b) {
        moves_.push_back(move);
      }
    }
  }
  Instance(const Instance&) = delete;  // the problem points into the demand
  Instance& operator=(const Instance&) = delete;

  [[nodiscard]] objective::SearchState state(SimdLevel simd) const {
    return {problem_, layout_, simd};
  }
  [[nodiscard]] const std::vector<objective::Move>& moves() const { return moves_; }
  [[nodiscard]] std::size_t bytes_of_move() const { return 12 * demand_.view().sample_stride(); }
  [[nodiscard]] std::size_t working_set() const {
    return demand_.narrow.size() * sizeof(std::uint16_t) +
           kBlocks * demand_.view().sample_stride() * sizeof(std::uint32_t);
  }

 private:
  domain::OwnedProjectedDemand demand_;
  CellLayout layout_;
  objective::SearchProblem problem_;
  std::vector<objective::Move> moves_;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <class Work>
double seconds_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void evaluate(benchmark::State& bench) {
  const auto level = static_cast<SimdLevel>(bench.range(0));
  if (level > base::best_simd_level()) {
    bench.SkipWithError("this CPU lacks the instructions");
    return;
  }
  const Instance instance(
      {static_cast<int>(bench.range(1)), static_cast<int>(bench.range(2)),
       static_cast<int>(bench.range(3))}
  );
  objective::SearchState state = instance.state(level);
  const std::size_t half = instance.working_set() / 2;
  const std::vector<char> source(half, 1);
  std::vector<char> target(half, 2);
  std::vector<double> move_seconds;
  std::vector<double> copy_seconds;
  for ([[maybe_unused]] auto iteration : bench) {
    const double seconds = seconds_of([&] {
      for (const objective::Move& move : instance.moves()) {
        benchmark::DoNotOptimize(state.evaluate(move, INT64_MAX));
      }
    });
    bench.SetIterationTime(seconds);
    move_seconds.push_back(seconds / static_cast<double>(kMoves));
    // The moves have driven the buffers out of the caches: the first copies only bring them back.
    constexpr int kCopies = 4;
    double last_copy = 0.0;
    for (int copy = 0; copy < kCopies; ++copy) {
      last_copy = seconds_of([&] {
        std::memcpy(target.data(), source.data(), half);
        benchmark::DoNotOptimize(target.data());
        benchmark::ClobberMemory();
      });
    }
    copy_seconds.push_back(last_copy);
  }
  const double rate = 2.0 * static_cast<double>(half) / median(copy_seconds);
  const double floor = static_cast<double>(instance.bytes_of_move()) / rate;
  bench.SetLabel(objective::peak_kernels(level).name);
  bench.counters["bytes"] = static_cast<double>(instance.bytes_of_move());
  bench.counters["working_MB"] = static_cast<double>(instance.working_set()) * 1e-6;
  bench.counters["copy_GB/s"] = rate * 1e-9;
  bench.counters["ns"] = median(move_seconds) * 1e9;
  bench.counters["floor_ns"] = floor * 1e9;
  bench.counters["over_floor"] = median(move_seconds) / floor;
}

BENCHMARK(evaluate)
    ->ArgNames({"simd", "layers", "ep", "N"})
    ->ArgsProduct({{0, 1, 2}, {24}, {8}, {512, 2048, 8192}})
    ->ArgsProduct({{0, 1, 2}, {48}, {32}, {512, 2048, 8192}})
    ->ArgsProduct({{0, 1, 2}, {61}, {64}, {512, 2048, 8192}})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace routepack
