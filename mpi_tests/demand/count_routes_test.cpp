#include "demand/count.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <optional>

#include "demand/exact_routes.hpp"
#include "support/expect_error.hpp"
#include "support/random_window.hpp"

namespace routepack::demand {
namespace {

using testing::Draws;
using testing::make_random_window;
using testing::RandomWindow;
using testing::RandomWindowShape;
using testing::TempFolder;
using testing::TestWindow;

using Counter = CountedDemand (*)(const io::RouteView&, SampleRange);

struct Outcome {
  std::optional<ErrorCode> code;
  std::string text;
  CountedDemand counted;
};

Outcome count(const TestWindow& window, Counter counter) {
  const TempFolder folder;
  window.write(folder.path());
  const io::WindowHeader header = io::open_window(folder.path());
  const io::RouteFile file(header);
  Outcome outcome;
  try {
    outcome.counted = counter(file.view(), {0, header.shape.num_samples});
  } catch (const Error& error) {
    outcome.code = error.code();
    outcome.text = error.what();
  }
  return outcome;
}

void expect_counts(
    const TestWindow& window, const std::vector<std::uint32_t>& demand, std::int64_t routed_pairs
) {
  for (const Counter counter : {&count_routes, &count_routes_exact}) {
    const Outcome outcome = count(window, counter);
    EXPECT_EQ(outcome.text, "");
    EXPECT_EQ(outcome.counted.demand, demand);
    EXPECT_EQ(outcome.counted.routed_pairs, routed_pairs);
  }
}

void expect_fault(const TestWindow& window, ErrorCode code, const std::string& text) {
  for (const Counter counter : {&count_routes, &count_routes_exact}) {
    const Outcome outcome = count(window, counter);
    EXPECT_EQ(name_of(outcome.code.value_or(ErrorCode::kUsage)), name_of(code));
    EXPECT_NE(outcome.text.find(text), std::string::npos) << outcome.text;
  }
}

// One layer, top 2 of 4 experts, one sample of `length` tokens with the given rows.
TestWindow one_layer(std::int64_t length, const std::vector<std::int64_t>& ids) {
  return {
      .moe_layers = {0},
      .num_layers = 1,
      .lengths = {length},
      .axis = 1,
      .row_counts = {static_cast<std::int64_t>(ids.size()) / 2},
      .ids = ids};
}

TEST(CountRoutes, CountsRowsOfAllTokensOrAllButTheLast) {
  expect_counts(one_layer(2, {0, 1, 1, 3}), {1, 2, 0, 1}, 4);
  expect_counts(one_layer(3, {0, 1, 1, 3}), {1, 2, 0, 1}, 4);
  expect_counts(one_layer(1, {}), {0, 0, 0, 0}, 0);
}

TEST(CountRoutes, ARowOfMinusOneIsAMissingRoute) {
  expect_counts(one_layer(3, {0, 1, -1, -1, 2, 3}), {1, 1, 1, 1}, 4);
  expect_counts(one_layer(2, {-1, -1, -1, -1}), {0, 0, 0, 0}, 0);
}

TEST(CountRoutes, LastRowsOfZerosAreFillersOnlyWhereTheyCanBe) {
  expect_counts(one_layer(2, {2, 3, 0, 0}), {0, 0, 1, 1}, 2);  // T rows: a filler
  expect_counts(one_layer(4, {2, 3, 0, 0, 0, 0, 0, 0}), {0, 0, 1, 1}, 2);
  // A missing route ends the tail, as any other row does.
  expect_counts(one_layer(4, {2, 3, -1, -1, 0, 0, 0, 0}), {0, 0, 1, 1}, 2);
  // The first row is no filler.
  expect_fault(one_layer(1, {0, 0}), ErrorCode::kLayerAllZero, "sample 0: layer 0 is all zeros");
  expect_fault(one_layer(3, {0, 0, 0, 0, 0, 0}), ErrorCode::kLayerAllZero, "sample 0: layer 0");
  // T-1 rows: the last of them is a real token.
  expect_fault(one_layer(3, {2, 3, 0, 0}), ErrorCode::kDuplicateExpertInRow, "sample 0, token 1");
  // Anywhere else zeros are a repeated id.
  expect_fault(one_layer(2, {0, 0, 2, 3}), ErrorCode::kDuplicateExpertInRow, "sample 0, token 0");
  expect_fault(
      one_layer(4, {2, 3, 0, 0, -1, -1, 0, 0}), ErrorCode::kDuplicateExpertInRow,
      "sample 0, token 1, layer 0: expert id 0 appears twice among the top 2; the token is all "
      "zeros at every layer: a missing route inside a sample is written as -1"
  );
  // Zeros at one layer only are no filler.
  TestWindow two_layers{.lengths = {2}, .row_counts = {2}, .ids = {0, 1, 2, 3, 0, 0, 1, 2}};
  expect_fault(two_layers, ErrorCode::kDuplicateExpertInRow, "sample 0, token 1, layer 0");
  EXPECT_EQ(count(two_layers, count_routes).text.find("-1"), std::string::npos);
}

TEST(CountRoutes, DenseLayersOfAFillerHoldAnything) {
  TestWindow window = one_layer(3, {9, 9, 0, 1, 5, 5, 0, 0, 7, 7, 0, 0});
  window.num_layers = 2;
  window.moe_layers = {1};
  window.axis = 2;
  window.row_counts = {3};
  expect_counts(window, {1, 1, 0, 0}, 2);
}

// More rows than are read at once, so that the tail is found in several steps.
TEST(CountRoutes, FillersMayBeMostOfALongSample) {
  constexpr std::int64_t kLength = 300'000;
  for (const std::int64_t routed : {std::int64_t{1}, std::int64_t{100'000}, kLength}) {
    TestWindow window = one_layer(kLength, {});
    window.row_counts = {kLength};
    window.ids.assign(2 * kLength, 0);
    for (std::int64_t row = 0; row < routed; ++row) {
      window.ids[static_cast<std::size_t>(2 * row)] = 3;
    }
    const auto count = static_cast<std::uint32_t>(routed);
    expect_counts(window, {count, 0, 0, count}, 2 * routed);
  }
}

TEST(CountRoutes, WithTopOneZeroIsAnExpert) {
  TestWindow window = one_layer(3, {0, 0, 0, 0});
  window.top_k = 1;
  window.lengths = {4};
  window.row_counts = {4};
  expect_counts(window, {4, 0, 0, 0}, 4);
}

TEST(CountRoutes, TheLargestByteIsAnExpertNotASentinel) {
  TestWindow window = one_layer(2, {0, 255, 254, 255});
  window.dtype = "|u1";
  window.num_experts = 256;
  std::vector<std::uint32_t> demand(256, 0);
  demand[0] = demand[254] = 1;
  demand[255] = 2;
  expect_counts(window, demand, 4);
}

TEST(CountRoutes, DenseLayersHoldAnything) {
  TestWindow window = one_layer(2, {9, 9, 0, 1, -1, -1, 2, 3});
  window.num_layers = 2;
  window.moe_layers = {1};
  window.axis = 2;
  window.row_counts = {2};
  expect_counts(window, {1, 1, 1, 1}, 4);
}

TEST(CountRoutes, NamesWhatARouteCannotBe) {
  expect_fault(
      one_layer(3, {0, 1, 4, 2}), ErrorCode::kExpertIdOutOfRange,
      "sample 0, token 1, layer 0: expert id 4, allowed are 0 to 3"
  );
  expect_fault(one_layer(3, {0, 1, -2, 2}), ErrorCode::kExpertIdOutOfRange, "expert id -2");
  expect_fault(
      one_layer(3, {0, 1, 3, 3}), ErrorCode::kDuplicateExpertInRow,
      "sample 0, token 1, layer 0: expert id 3 appears twice among the top 2"
  );
  expect_fault(one_layer(3, {0, 1, 2, -1}), ErrorCode::kPartialSentinel, "sample 0, token 1");
  // A missing route is missing at every MoE layer.
  const TestWindow one_missing{.lengths = {1}, .row_counts = {1}, .ids = {0, 1, -1, -1}};
  expect_fault(one_missing, ErrorCode::kPartialSentinel, "sample 0, token 0, layer 1");
  TestWindow huge = one_layer(3, {0, 1, -1, 2});
  huge.dtype = "<u8";
  expect_fault(huge, ErrorCode::kExpertIdOutOfRange, "expert id 9223372036854775807");
}

TEST(CountRoutes, ALayerOfZerosWasNotCaptured) {
  TestWindow window{
      .moe_layers = {3, 5},
      .num_layers = 6,
      .lengths = {2, 3},
      .row_counts = {1, 3},
      // Sample 1: layer 5 is zeros in all rows that have a route, the last row is a filler.
      .ids = {0, 1, 2, 3, -1, -1, -1, -1, 1, 2, 0, 0, 0, 0, 0, 0}};
  expect_fault(window, ErrorCode::kLayerAllZero, "sample 1: layer 5 is all zeros");
  window.ids[10] = 3;  // one row of the layer is not zeros
  expect_counts(window, {1, 1, 0, 0, 0, 0, 1, 1, 0, 1, 1, 0, 1, 0, 0, 1}, 4);
  expect_fault(one_layer(3, {0, 0, 0, 0}), ErrorCode::kLayerAllZero, "sample 0: layer 0");
}

TEST(CountRoutes, LongSamplesPassSixteenBits) {
  constexpr std::int64_t kLength = 200'000;
  TestWindow window = one_layer(kLength, {});
  window.dtype = "|u1";
  window.row_counts = {kLength};
  for (std::int64_t token = 0; token < kLength; ++token) {
    window.ids.push_back(3);
    window.ids.push_back(token % 3);
  }
  expect_counts(window, {66667, 66667, 66666, kLength}, 2 * kLength);
}

TEST(CountRoutes, SlicesAreIndependent) {
  Draws draws(1);
  const RandomWindow made = make_random_window({.num_samples = 7}, draws);
  const TempFolder folder;
  made.window.write(folder.path());
  const io::WindowHeader header = io::open_window(folder.path());
  const io::RouteFile file(header);
  const CountedDemand middle = count_routes(file.view(), {2, 5});
  const std::size_t row_size = 2 * 8;
  EXPECT_EQ(
      middle.demand, std::vector<std::uint32_t>(
                         made.demand.begin() + 2 * row_size, made.demand.begin() + 5 * row_size
                     )
  );
  EXPECT_TRUE(count_routes(file.view(), {3, 3}).demand.empty());
}

std::vector<RandomWindowShape> random_shapes() {
  std::vector<RandomWindowShape> shapes;
  for (const char* dtype : {"|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8"}) {
    shapes.push_back({.dtype = dtype});
    shapes.push_back({.dtype = dtype, .num_experts = 128, .top_k = 8, .max_length = 400});
    shapes.push_back(
        {.dtype = dtype,
         .num_experts = 60,
         .top_k = 22,
         .moe_layers = {1, 2, 5},
         .num_layers = 7,
         .all_layers_on_axis = true}
    );
  }
  for (const int top_k : {1, 2, 3, 4, 5, 6, 7, 10, 17, 65}) {
    shapes.push_back({.dtype = "<i2", .num_experts = 300, .top_k = top_k, .max_length = 130});
    shapes.push_back({.dtype = "|u1", .num_experts = 70, .top_k = top_k, .max_length = 900});
  }
  return shapes;
}

TEST(CountRoutes, EqualsWhatWasDrawn) {
  std::uint32_t key = 100;
  for (const RandomWindowShape& shape : random_shapes()) {
    SCOPED_TRACE(fmt::format("key {}, dtype {}, top {}", key, shape.dtype, shape.top_k));
    Draws draws(key++);
    const RandomWindow made = make_random_window(shape, draws);
    const std::int64_t tokens =
        std::accumulate(made.window.lengths.begin(), made.window.lengths.end(), std::int64_t{0});
    expect_counts(made.window, made.demand, shape.top_k * (tokens - made.unrouted_tokens));
  }
}

// Damages one id somewhere, or a whole layer of a sample; the two paths must say the same.
TEST(CountRoutes, FastAndExactPathsAgreeOnEveryFault) {
  std::vector<int> seen(static_cast<std::size_t>(ErrorCode::kTransferFailed) + 1, 0);
  std::uint32_t key = 1000;
  for (int repeat = 0; repeat < 4; ++repeat) {
    for (const RandomWindowShape& shape : random_shapes()) {
      SCOPED_TRACE(fmt::format("key {}, dtype {}, top {}", key, shape.dtype, shape.top_k));
      Draws draws(key++);
      TestWindow window = make_random_window(shape, draws).window;
      if (window.ids.empty()) {
        continue;
      }
      const auto size = static_cast<std::int64_t>(window.ids.size());
      const auto at = static_cast<std::size_t>(draws.below(size));
      const auto line = at - at % static_cast<std::size_t>(shape.top_k);
      switch (draws.below(4)) {
        case 0:
          window.ids[at] = -1 - draws.below(2);
          break;
        case 1:
          window.ids[at] = shape.num_experts;
          break;
        case 2:
          window.ids[at] =
              window.ids[line + (at + 1 - line) % static_cast<std::size_t>(shape.top_k)];
          break;
        default: {
          const auto stride = static_cast<std::size_t>(window.axis * shape.top_k);
          for (std::size_t id = line % stride; id < window.ids.size(); id += stride) {
            std::fill_n(window.ids.begin() + static_cast<std::ptrdiff_t>(id), shape.top_k, 0);
          }
        }
      }
      const Outcome fast = count(window, count_routes);
      const Outcome exact = count(window, count_routes_exact);
      EXPECT_EQ(fast.text, exact.text);
      EXPECT_EQ(fast.code, exact.code);
      EXPECT_EQ(fast.counted.demand, exact.counted.demand);
      EXPECT_EQ(fast.counted.routed_pairs, exact.counted.routed_pairs);
      if (exact.code) {
        ++seen[static_cast<std::size_t>(*exact.code)];
      }
    }
  }
  for (const ErrorCode code :
       {ErrorCode::kExpertIdOutOfRange, ErrorCode::kDuplicateExpertInRow,
        ErrorCode::kPartialSentinel, ErrorCode::kLayerAllZero}) {
    EXPECT_GT(seen[static_cast<std::size_t>(code)], 3) << name_of(code);
  }
}

}  // namespace
}  // namespace routepack::demand
