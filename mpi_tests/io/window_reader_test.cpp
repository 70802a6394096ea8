#include "io/window_reader.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "support/expect_error.hpp"
#include "support/test_window.hpp"

namespace routepack::io {
namespace {

using testing::expect_error;
using testing::npy_array;
using testing::TempFolder;
using testing::TestWindow;
using testing::write_file;

TestWindow small_routes() {
  return {.lengths = {3, 2}, .row_counts = {2, 2}, .ids = std::vector<std::int64_t>(16, 1)};
}

TestWindow small_counts() {
  return {.form = "counts", .lengths = {3}, .counts = {3, 3, 0, 0, 0, 0, 3, 3}};
}

// Writes `window`, with window.json's `from` replaced by `to`.
void write_changed(
    const TestWindow& window,
    const TempFolder& folder,
    const std::string& from,
    const std::string& to
) {
  window.write(folder.path());
  std::string text = window.metadata();
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  write_file(folder.file("window.json"), text.replace(at, from.size(), to));
}

void expect_refused(
    const std::string& from, const std::string& to, ErrorCode code, const std::string& part_of_text
) {
  SCOPED_TRACE(to);
  const TempFolder folder;
  write_changed(small_routes(), folder, from, to);
  expect_error(code, part_of_text, [&] { (void)open_window(folder.path()); });
}

TEST(OpenWindow, ReadsMetadata) {
  const TempFolder folder;
  write_changed(
      small_routes(), folder, R"("name": "test")", R"("name": "n", "groups": "g.npy", "unknown": 1)"
  );
  write_file(folder.file("g.npy"), npy_array("<i8", {2}, {7, 8}));
  const WindowHeader header = open_window(folder.path());
  EXPECT_EQ(header.form, DemandForm::kRoutes);
  EXPECT_EQ(header.shape.num_samples, 2);
  EXPECT_EQ(header.shape.moe_layers, (std::vector<int>{0, 1}));
  EXPECT_EQ(header.shape.num_layers, 2);
  EXPECT_EQ(header.shape.num_experts, 4);
  EXPECT_EQ(header.shape.top_k, 2);
  EXPECT_EQ(header.shape.name, "n");
  EXPECT_EQ(header.groups, (std::vector<std::int64_t>{7, 8}));
  EXPECT_EQ(header.lengths, (std::vector<std::int64_t>{3, 2}));
  EXPECT_EQ(header.route_offsets, (std::vector<std::int64_t>{0, 2, 4}));
}

TEST(OpenWindow, ADenseModelHasNoExperts) {
  const TempFolder folder;
  TestWindow window{.num_experts = 9, .moe_layers = {}, .form = "none", .lengths = {3}};
  window.write(folder.path());
  const WindowHeader header = open_window(folder.path());
  EXPECT_EQ(header.form, DemandForm::kNone);
  EXPECT_EQ(header.shape.num_experts, 0);
  EXPECT_EQ(header.shape.num_moe_layers(), 0);
}

TEST(OpenWindow, RefusesMetadataThatIsMissingOrOfAnotherType) {
  const auto malformed = ErrorCode::kFileMalformed;
  for (const char* key :
       {"format", "num_experts", "top_k", "moe_layers", "num_layers", "ep_demand"}) {
    const std::string quoted = '"' + std::string(key) + '"';
    expect_refused(quoted, "\"x\"", malformed, "window.json has no key '" + std::string(key) + "'");
  }
  expect_refused("window/1", "window/2", malformed, "'format' is 'routepack-window/2'");
  expect_refused("\"routepack-window/1\"", "1", malformed, "'format' is number");
  expect_refused("\"num_experts\": 4", "\"num_experts\": \"4\"", malformed, "'num_experts'");
  expect_refused(
      "\"num_experts\": 4", "\"num_experts\": 4.0", malformed, "is 4.0, expected an integer"
  );
  expect_refused("\"num_experts\": 4", "\"num_experts\": 1e400", malformed, "window.json");
  expect_refused("[0, 1]", "0", malformed, "'moe_layers'");
  expect_refused("[0, 1]", "[0, true]", malformed, "'moe_layers'[1] is boolean");
  expect_refused("\"routes\"", "\"maybe\"", malformed, "'ep_demand' is 'maybe'");
  expect_refused("\"name\": \"test\"", "\"groups\": 3", malformed, "'groups'");
  expect_refused("{", "", malformed, "is no JSON document");
  expect_refused("{", "[{", malformed, "is no JSON document");
  expect_refused(
      "\"num_experts\": 4", "\"num_experts\": 4, \"num_experts\": 8", malformed,
      "window.json has the key 'num_experts' twice"
  );
  expect_refused(
      "\"name\": \"test\"", R"("a": {"x": [{"b": 1}, {"b": 2}]}, "c": {"x": {}, "x": 1})",
      malformed, "the key 'x' twice"
  );
}

TEST(OpenWindow, RefusesNumbersThatNoFieldHolds) {
  const auto range = ErrorCode::kNumberOutOfRange;
  expect_refused("\"num_experts\": 4", "\"num_experts\": -4", range, "'num_experts' is -4");
  expect_refused("\"num_experts\": 4", "\"num_experts\": 0", range, "'num_experts' is 0");
  expect_refused("\"num_experts\": 4", "\"num_experts\": 65537", range, "allowed are 1 to 65536");
  expect_refused(
      "\"num_experts\": 4", "\"num_experts\": 18446744073709551615", range, "18446744073709551615"
  );
  expect_refused(
      "\"top_k\": 2", "\"top_k\": 5", range, "'top_k' is 5, the limit is 'num_experts' = 4"
  );
  expect_refused("\"top_k\": 2", "\"top_k\": 0", range, "'top_k' is 0");
  expect_refused("\"num_layers\": 2", "\"num_layers\": -1", range, "'num_layers' is -1");
  expect_refused("[0, 1]", "[-1, 1]", range, "'moe_layers'[0] is -1");
}

TEST(OpenWindow, RefusesMoreCountersThanAnyModelHas) {
  const TempFolder folder;
  TestWindow window = small_routes();
  window.num_experts = 65536;
  window.num_layers = 65;
  window.moe_layers.resize(64);
  std::iota(window.moe_layers.begin(), window.moe_layers.end(), 0);
  window.axis = 64;
  window.ids.assign(4 * 64 * 2, 0);
  window.write(folder.path());
  EXPECT_EQ(open_window(folder.path()).shape.num_moe_layers(), 64);
  window.moe_layers.push_back(64);
  window.write(folder.path());
  expect_error(ErrorCode::kNumberOutOfRange, "65 'moe_layers' of 'num_experts' = 65536", [&] {
    (void)open_window(folder.path());
  });
}

TEST(OpenWindow, RefusesContradictions) {
  const auto malformed = ErrorCode::kFileMalformed;
  expect_refused("[0, 1]", "[1, 0]", malformed, "not ascending at layer 0");
  expect_refused("[0, 1]", "[1, 1]", malformed, "not ascending at layer 1");
  expect_refused("[0, 1]", "[0, 2]", malformed, "names layer 2, 'num_layers' is 2");
  expect_refused("[0, 1]", "[]", malformed, "contradicts 'ep_demand' = 'routes'");
  expect_refused("\"routes\"", "\"none\"", malformed, "contradicts 'ep_demand' = 'none'");
}

struct BadArray {
  const char* name;
  const char* file;
  std::string content;
  ErrorCode code;
  const char* text;
};

void PrintTo(const BadArray& array, std::ostream* out) { *out << array.name; }

const std::vector<BadArray>& bad_arrays() {
  static const std::vector<BadArray> all = {
      {"LengthsOfTwoAxes", "lengths.npy", npy_array("<i8", {1, 2}, {3, 2}),
       ErrorCode::kFileMalformed, "shape (1, 2)"},
      {"ALengthOfZero", "lengths.npy", npy_array("<i8", {2}, {3, 0}), ErrorCode::kZeroLengthSample,
       "sample 1"},
      {"ANegativeLength", "lengths.npy", npy_array("<i8", {2}, {3, -2}),
       ErrorCode::kNumberOutOfRange, "sample 1 has -2"},
      {"ALengthBeyond31Bits", "lengths.npy", npy_array("<i8", {2}, {1LL << 31, 2}),
       ErrorCode::kNumberOutOfRange, "sample 0 has 2147483648"},
      {"TooFewOffsets", "row_offsets.npy", npy_array("<i8", {2}, {0, 4}), ErrorCode::kFileMalformed,
       "expected 3"},
      {"OffsetsThatStartLate", "row_offsets.npy", npy_array("<i8", {3}, {1, 2, 4}),
       ErrorCode::kFileMalformed, "starts at 1"},
      {"OffsetsThatFall", "row_offsets.npy", npy_array("<i8", {3}, {0, 2, 1}),
       ErrorCode::kFileMalformed, "falls from 2 to 1 after sample 1"},
      {"MoreRowsThanTokens", "row_offsets.npy", npy_array("<i8", {3}, {0, 4, 6}),
       ErrorCode::kTooManyRouteRows, "sample 0 has 4 route rows for 3 tokens, allowed are 2 or 3"},
      {"TooFewRows", "row_offsets.npy", npy_array("<i8", {3}, {0, 2, 2}),
       ErrorCode::kTooFewRouteRows, "sample 1 has 0 route rows for 2 tokens, allowed are 1 or 2"},
  };
  return all;
}

class BadWindowArray : public ::testing::TestWithParam<BadArray> {};

TEST_P(BadWindowArray, IsRefused) {
  const BadArray& array = GetParam();
  const TempFolder folder;
  small_routes().write(folder.path());
  write_file(folder.file(array.file), array.content);
  expect_error(array.code, array.text, [&] { (void)open_window(folder.path()); });
}

INSTANTIATE_TEST_SUITE_P(
    OpenWindow,
    BadWindowArray,
    ::testing::ValuesIn(bad_arrays()),
    [](const auto& array) { return std::string(array.param.name); }
);

TEST(OpenWindow, RefusesAFolderWithAFileMissing) {
  for (const char* file : {"window.json", "lengths.npy", "row_offsets.npy"}) {
    SCOPED_TRACE(file);
    const TempFolder folder;
    small_routes().write(folder.path());
    std::filesystem::remove(folder.file(file));
    expect_error(ErrorCode::kFileMalformed, file, [&] { (void)open_window(folder.path()); });
  }
  expect_error(ErrorCode::kFileMalformed, "/no/such", [] { (void)open_window("/no/such"); });
}

TEST(RouteFile, FindsMoeLayersOnEitherAxis) {
  const TempFolder folder;
  TestWindow window = small_routes();
  window.num_layers = 5;
  window.moe_layers = {1, 3, 4};
  window.axis = 5;
  window.ids.assign(4 * 5 * 2, 0);
  window.write(folder.path());
  const WindowHeader all = open_window(folder.path());
  const RouteFile all_layers(all);
  ASSERT_EQ(all_layers.view().runs.size(), 2U);
  EXPECT_EQ(all_layers.view().runs[0].first_axis, 1);
  EXPECT_EQ(all_layers.view().runs[0].count, 1);
  EXPECT_EQ(all_layers.view().runs[1].first_layer, 1);
  EXPECT_EQ(all_layers.view().runs[1].first_axis, 3);
  EXPECT_EQ(all_layers.view().runs[1].count, 2);
  EXPECT_EQ(all_layers.view().ids_per_token(), 10);
  EXPECT_EQ(all_layers.view().num_routes(1), 2);
  all_layers.advise(0, 2);

  window.axis = 3;
  window.ids.assign(4 * 3 * 2, 0);
  window.write(folder.path());
  const WindowHeader moe = open_window(folder.path());
  const RouteFile moe_layers(moe);
  ASSERT_EQ(moe_layers.view().runs.size(), 1U);
  EXPECT_EQ(moe_layers.view().runs[0].count, 3);

  window.axis = 4;
  window.ids.assign(4 * 4 * 2, 0);
  window.write(folder.path());
  const WindowHeader neither = open_window(folder.path());
  expect_error(ErrorCode::kLayerAxisMismatch, "has 4 layers, expected 3 (MoE layers) or 5", [&] {
    const RouteFile file(neither);
  });
}

TEST(RouteFile, NamesOneNumberWhereAllLayersAreMoeLayers) {
  const TempFolder folder;
  TestWindow window = small_routes();
  window.axis = 3;
  window.ids.assign(4 * 3 * 2, 0);
  window.write(folder.path());
  const WindowHeader header = open_window(folder.path());
  expect_error(ErrorCode::kLayerAxisMismatch, "has 3 layers, expected 2, all of them MoE", [&] {
    const RouteFile file(header);
  });
}

TEST(RouteFile, RefusesTokensOfMoreIdsThanAnyModelHas) {
  const TempFolder folder;
  TestWindow window = small_routes();
  window.num_experts = window.top_k = 1 << 16;
  window.moe_layers = {3};
  window.num_layers = window.axis = 1 << 8;
  window.lengths = {1, 1};
  window.row_counts = {0, 0};
  window.ids = {};
  window.write(folder.path());
  const WindowHeader header = open_window(folder.path());
  expect_error(ErrorCode::kNumberOutOfRange, "256 layers of 'top_k' = 65536", [&] {
    const RouteFile file(header);
  });
}

const std::vector<BadArray>& bad_routes() {
  static const std::vector<std::int64_t> ids(16, 1);
  static const std::vector<BadArray> all = {
      {"TwoAxes", "routed_experts.npy", npy_array("<i4", {4, 4}, ids), ErrorCode::kFileMalformed,
       "shape (4, 4)"},
      {"FewerRowsThanOffsets", "routed_experts.npy", npy_array("<i4", {2, 2, 4}, ids),
       ErrorCode::kFileMalformed, "2 rows, row_offsets.npy ends at 4"},
      {"AnotherTopK", "routed_experts.npy", npy_array("<i4", {4, 2, 1}, {1, 1, 1, 1, 1, 1, 1, 1}),
       ErrorCode::kFileMalformed, "'top_k' is 2"},
      {"NoIntegers", "routed_experts.npy", npy_array("<f4", {4, 2, 2}, ids),
       ErrorCode::kFileMalformed, "no integer"},
  };
  return all;
}

class BadRouteArray : public ::testing::TestWithParam<BadArray> {};

TEST_P(BadRouteArray, IsRefused) {
  const BadArray& array = GetParam();
  const TempFolder folder;
  small_routes().write(folder.path());
  write_file(folder.file(array.file), array.content);
  const WindowHeader header = open_window(folder.path());
  expect_error(array.code, array.text, [&] { const RouteFile file(header); });
}

INSTANTIATE_TEST_SUITE_P(
    RouteFile,
    BadRouteArray,
    ::testing::ValuesIn(bad_routes()),
    [](const auto& array) { return std::string(array.param.name); }
);

TEST(RouteFile, TheDtypeMustHoldTheLargestId) {
  struct Case {
    const char* dtype;
    int holds;  // experts
  };
  for (const Case& c : {Case{"|u1", 256}, Case{"|i1", 128}, Case{"<i2", 32768}}) {
    SCOPED_TRACE(c.dtype);
    const TempFolder folder;
    TestWindow window = small_routes();
    window.dtype = c.dtype;
    window.num_experts = c.holds;
    window.write(folder.path());
    const WindowHeader fits = open_window(folder.path());
    EXPECT_EQ(RouteFile(fits).view().num_experts, c.holds);
    window.num_experts = c.holds + 1;
    window.write(folder.path());
    const WindowHeader narrow = open_window(folder.path());
    expect_error(ErrorCode::kDtypeTooNarrow, std::to_string(c.holds + 1), [&] {
      const RouteFile file(narrow);
    });
  }
}

TEST(CountFile, RefusesAnotherShape) {
  const TempFolder folder;
  small_counts().write(folder.path());
  const WindowHeader header = open_window(folder.path());
  EXPECT_EQ(CountFile(header).array().shape(), (std::vector<std::int64_t>{1, 2, 4}));
  write_file(folder.file("demand.npy"), npy_array("<u4", {1, 4, 2}, {3, 3, 0, 0, 0, 0, 3, 3}));
  expect_error(ErrorCode::kFileMalformed, "shape (1, 4, 2), expected (1, 2, 4)", [&] {
    const CountFile file(header);
  });
}

TEST(WindowInputs, AreTheFilesThatItsFormHas) {
  const TempFolder folder;
  const auto of = [&](const std::string& json) {
    write_file(folder.file("window.json"), json);
    return window_inputs(folder.path());
  };
  const auto paths = [&](std::vector<std::string> names) {
    for (std::string& name : names) {
      name = folder.file(name);
    }
    return names;
  };
  EXPECT_EQ(window_inputs(folder.file("none")).size(), 2U);
  EXPECT_EQ(of("{"), paths({"window.json", "lengths.npy"}));
  EXPECT_EQ(of(R"({"ep_demand": "none"})"), paths({"window.json", "lengths.npy"}));
  EXPECT_EQ(
      of(R"({"ep_demand": "counts", "groups": "g.npy"})"),
      paths({"window.json", "lengths.npy", "g.npy", "demand.npy"})
  );
  EXPECT_EQ(
      of(R"({"ep_demand": "routes"})"),
      paths({"window.json", "lengths.npy", "row_offsets.npy", "routed_experts.npy"})
  );
}

}  // namespace
}  // namespace routepack::io
