#include "demand/count.hpp"

#include <gtest/gtest.h>

#include "demand/load_window.hpp"
#include "support/expect_error.hpp"
#include "support/test_window.hpp"

namespace routepack::demand {
namespace {

using testing::expect_error;
using testing::npy_array;
using testing::TempFolder;
using testing::TestWindow;
using testing::write_file;

// Two samples of 3 and 2 tokens, layers 0 and 1, top 2 of 3 experts.
CountedDemand read(const std::vector<std::int64_t>& counts, const std::string& descr = "<i4") {
  const TempFolder folder;
  const TestWindow window{.num_experts = 3, .form = "counts", .lengths = {3, 2}, .counts = counts};
  window.write(folder.path());
  write_file(folder.file("demand.npy"), npy_array(descr, {2, 2, 3}, counts));
  const io::WindowHeader header = io::open_window(folder.path());
  return read_counts(header, io::CountFile(header).array(), {0, 2});
}

const std::vector<std::int64_t> kCounts = {3, 2, 1, 0, 3, 3, 1, 1, 0, 0, 0, 2};

class CountsOfDtype : public ::testing::TestWithParam<const char*> {};

TEST_P(CountsOfDtype, AreConverted) {
  const CountedDemand counted = read(kCounts, GetParam());
  EXPECT_EQ(counted.demand, std::vector<std::uint32_t>(kCounts.begin(), kCounts.end()));
  EXPECT_EQ(counted.routed_pairs, 8);
}

INSTANTIATE_TEST_SUITE_P(
    ReadCounts,
    CountsOfDtype,
    ::testing::Values("|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8"),
    [](const auto& descr) { return std::string(descr.param).substr(1); }
);

TEST(ReadCounts, RefusesEntriesOutsideTheSample) {
  std::vector<std::int64_t> counts = kCounts;
  counts[7] = 3;
  expect_error(ErrorCode::kNumberOutOfRange, "sample 1, layer 0, expert 1: demand is 3", [&] {
    (void)read(counts);
  });
  counts[7] = -1;
  expect_error(ErrorCode::kNumberOutOfRange, "demand is -1", [&] { (void)read(counts); });
  expect_error(ErrorCode::kNumberOutOfRange, "demand is 18446744073709551615", [&] {
    (void)read(counts, "<u8");
  });
  counts[7] = (std::int64_t{1} << 32U) + 1;  // 1 in the low 32 bits
  expect_error(ErrorCode::kNumberOutOfRange, "demand is 4294967297", [&] {
    (void)read(counts, "<i8");
  });
}

TEST(ReadCounts, RefusesLayersThatDisagree) {
  std::vector<std::int64_t> counts = kCounts;
  counts[9] = 1;
  expect_error(
      ErrorCode::kDemandNotConserved,
      "sample 1, layer 1 has 3 routed pairs, layer 0 of the sample has 2",
      [&] { (void)read(counts); }
  );
  counts = kCounts;
  counts[6] = counts[7] = counts[8] = 2;
  expect_error(ErrorCode::kDemandNotConserved, "2 tokens at top 2 have at most 4", [&] {
    (void)read(counts);
  });
}

io::WindowHeader header_of(io::DemandForm form, const std::vector<std::int64_t>& rows) {
  io::WindowHeader header;
  header.form = form;
  header.shape = {
      .num_samples = static_cast<std::int64_t>(rows.size()),
      .moe_layers = {0, 1},
      .num_layers = 2,
      .num_experts = 4,
      .top_k = 2,
      .name = ""};
  header.lengths = rows;
  header.route_offsets = {0};
  for (const std::int64_t count : rows) {
    header.route_offsets.push_back(header.route_offsets.back() + count);
  }
  return header;
}

TEST(SliceSamples, CoversEverySampleOnceInOrder) {
  for (const std::int64_t samples : {0, 1, 2, 7, 100}) {
    for (const int parts : {1, 2, 3, 4, 8, 150}) {
      for (const io::DemandForm form :
           {io::DemandForm::kRoutes, io::DemandForm::kCounts, io::DemandForm::kNone}) {
        const io::WindowHeader header =
            header_of(form, std::vector<std::int64_t>(static_cast<std::size_t>(samples), 5));
        std::int64_t next = 0;
        for (const SampleRange& slice : slice_samples(header, parts)) {
          EXPECT_EQ(slice.begin, next);
          EXPECT_GE(slice.size(), 0);
          next = slice.end;
        }
        EXPECT_EQ(next, samples);
      }
    }
  }
}

TEST(SliceSamples, BalancesRowsRatherThanSamples) {
  std::vector<std::int64_t> rows(100, 10);
  rows[0] = 1000;
  const std::vector<SampleRange> slices =
      slice_samples(header_of(io::DemandForm::kRoutes, rows), 2);
  EXPECT_LE(slices[0].size(), 10);
  EXPECT_GE(slices[0].size(), 1);
  const std::vector<SampleRange> even = slice_samples(header_of(io::DemandForm::kCounts, rows), 4);
  for (const SampleRange& slice : even) {
    EXPECT_EQ(slice.size(), 25);
  }
}

}  // namespace
}  // namespace routepack::demand
