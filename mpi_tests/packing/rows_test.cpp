// Rows: never more than claimed, never fewer than possible, errors that say what is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/check.hpp"
#include "packing/bounds.hpp"
#include "packing/lengths.hpp"
#include "packing/oracles.hpp"
#include "packing/pack_rows.hpp"
#include "packing/row_search.hpp"
#include "routepack/error.hpp"
#include "support/planted.hpp"

namespace routepack::packing {
namespace {

using testing::PlantedWindow;

struct Caught {
  std::string code = "none";
  std::string text;
};

Caught catch_error(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return {std::string{name_of(error.code())}, error.what()};
  }
  return {};
}

PackedRows pack(
    const std::vector<std::int64_t>& lengths, std::int64_t capacity, int dp, int row_multiple = 1
) {
  return pack_rows(pad_lengths(lengths, 1, capacity), capacity, dp, row_multiple, {});
}

// Everything a certificate claims, recomputed.
void expect_sound(
    const PackedRows& packed,
    const std::vector<std::int64_t>& lengths,
    std::int64_t capacity,
    int dp,
    int row_multiple
) {
  const PaddedLengths padded{lengths};
  const RowCertificate& certificate = packed.certificate;
  EXPECT_EQ(find_layout_fault(packed.layout, padded, capacity), "");
  EXPECT_EQ(packed.layout.num_rows, certificate.num_rows);
  EXPECT_EQ(packed.layout.dp, dp);
  EXPECT_EQ(certificate.num_rows % row_multiple, 0);
  const std::int64_t cells = verify_bound(certificate.bound, padded, capacity);
  const std::int64_t step = std::int64_t{dp} * row_multiple;
  EXPECT_EQ(certificate.lower_bound_rows, base::round_up(cells, step) / dp);
  EXPECT_LE(certificate.lower_bound_rows, certificate.num_rows);
  EXPECT_EQ(
      certificate.status == RowStatus::kCertified,
      certificate.lower_bound_rows == certificate.num_rows
  );
}

TEST(PadLengths, RoundsUpAndNamesTheSamplesAtFault) {
  EXPECT_EQ(
      pad_lengths({65, 63, 64, 1}, 64, 256).values(), (std::vector<std::int64_t>{128, 64, 64, 64})
  );
  Caught caught = catch_error([] { (void)pad_lengths({0, 50, 60, 0}, 1, 100); });
  EXPECT_EQ(caught.code, "ZERO_LENGTH_SAMPLE");
  EXPECT_THAT(caught.text, ::testing::EndsWith("samples 0, 3"));
  caught = catch_error([] { (void)pad_lengths({1200, 100}, 1, 1000); });
  EXPECT_EQ(caught.code, "SAMPLE_EXCEEDS_CAP");
  EXPECT_THAT(caught.text, ::testing::HasSubstr("1000"));
  EXPECT_THAT(caught.text, ::testing::EndsWith("sample 0"));
  caught = catch_error([] { (void)pad_lengths({10, 91}, 64, 100); });
  EXPECT_EQ(caught.code, "SAMPLE_EXCEEDS_CAP");
  EXPECT_THAT(caught.text, ::testing::EndsWith("sample 1"));
  caught = catch_error([] { (void)pad_lengths({-5}, 1, 100); });
  EXPECT_EQ(caught.code, "ZERO_LENGTH_SAMPLE");
  caught = catch_error([] { (void)pad_lengths(std::vector<std::int64_t>(20, 0), 1, 100); });
  EXPECT_THAT(caught.text, ::testing::EndsWith("7 and 12 more"));
  EXPECT_EQ(catch_error([] { (void)pad_lengths({1}, 0, 9); }).code, "NUMBER_OUT_OF_RANGE");
  EXPECT_EQ(catch_error([] { (void)pad_lengths({1}, 1, 0); }).code, "NUMBER_OUT_OF_RANGE");
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  EXPECT_EQ(
      catch_error([] {
        (void)pad_lengths({kHuge, kHuge}, 1, kHuge);
      }).code,
      "NUMBER_OUT_OF_RANGE"
  );
  EXPECT_EQ(
      catch_error([] { (void)pad_lengths({kHuge}, kHuge - 1, kHuge); }).code, "SAMPLE_EXCEEDS_CAP"
  );
  EXPECT_EQ(catch_error([] { (void)pad_lengths({1, 1}, 1, kHuge); }).code, "NUMBER_OUT_OF_RANGE");
}

struct KnownRows {
  std::string name;
  std::vector<std::int64_t> lengths;
  std::int64_t capacity;
  int dp;
  int row_multiple;
  int rows;
};

void PrintTo(const KnownRows& known, std::ostream* out) { *out << known.name; }

constexpr std::int64_t kHuge = std::int64_t{1} << 40;

const std::vector<KnownRows>& known_rows() {
  static const std::vector<KnownRows> all = {
      {"SevenOfEight", {7, 7, 7, 7, 7, 7, 7, 7}, 8, 1, 1, 8},
      {"HiddenTwoRows", {75, 28, 22, 78, 23, 31, 54, 69}, 100, 2, 1, 2},
      {"HiddenOneRow", {32, 17, 84, 70, 62, 11, 21, 80}, 100, 4, 1, 1},
      {"LongAndShort", {4000, 4000, 4000, 4000, 4000, 4000, 4000, 4000, 100, 120}, 4096, 2, 1, 5},
      {"NotDivisible",
       {100, 137, 113, 150, 126, 102, 139, 115, 152, 128, 104, 141, 117, 154},
       256,
       4,
       1,
       2},
      {"OneCellWouldDo", {100, 120, 90, 80}, 8192, 4, 1, 1},
      {"UpNotDown", {700, 700, 700, 700, 700, 100, 100, 100}, 800, 4, 1, 2},
      {"OneCellIsSplit", {10, 20, 30, 40}, 1000, 2, 1, 1},
      {"RowMultiple", {10, 20, 30, 40, 50, 60, 70, 80}, 1000, 2, 4, 4},
      {"Beyond32Bits", {35654, 35655, 131072, 131072}, 262144, 2, 1, 1},
      {"OneSample", {1}, 1, 1, 1, 1},
      {"CapacityOne", {1, 1, 1, 1, 1, 1}, 1, 3, 1, 2},
      {"TwoToTheFortyTokens",
       {kHuge - 1, 1, kHuge / 2, kHuge / 2, kHuge, 7, 9, 11},
       kHuge,
       4,
       1,
       1},
      {"AllAtTheCapacity", std::vector<std::int64_t>(512, 32768), 32768, 8, 1, 64},
  };
  return all;
}

class KnownFewest : public ::testing::TestWithParam<KnownRows> {};

TEST_P(KnownFewest, IsFoundAndCertified) {
  const KnownRows& known = GetParam();
  const PackedRows packed = pack(known.lengths, known.capacity, known.dp, known.row_multiple);
  EXPECT_EQ(packed.certificate.num_rows, known.rows);
  EXPECT_EQ(packed.certificate.status, RowStatus::kCertified);
  expect_sound(packed, known.lengths, known.capacity, known.dp, known.row_multiple);
}

INSTANTIATE_TEST_SUITE_P(
    Windows,
    KnownFewest,
    ::testing::ValuesIn(known_rows()),
    [](const auto& known) { return known.param.name; }
);

TEST(PackRows, SaysHowManyPaddingSamplesWouldDo) {
  Caught caught = catch_error([] { (void)pack({100, 120, 90}, 8192, 4); });
  EXPECT_EQ(caught.code, "FEWER_SAMPLES_THAN_RANKS");
  EXPECT_THAT(caught.text, ::testing::HasSubstr("1 padding samples would do"));
  caught = catch_error([] { (void)pack({900, 900, 900, 900, 900, 900}, 1000, 2, 4); });
  EXPECT_EQ(caught.code, "NONEMPTY_CELLS_IMPOSSIBLE");
  EXPECT_THAT(caught.text, ::testing::HasSubstr("2 padding samples would do"));
  caught = catch_error([] { (void)pack({}, 10, 4, 2); });
  EXPECT_EQ(caught.code, "FEWER_SAMPLES_THAN_RANKS");
  EXPECT_THAT(caught.text, ::testing::HasSubstr(" 8 padding samples would do"));
  EXPECT_EQ(catch_error([] { (void)pack({1}, 10, 0); }).code, "NUMBER_OUT_OF_RANGE");
  EXPECT_EQ(catch_error([] { (void)pack({1}, 10, 1, 0); }).code, "NUMBER_OUT_OF_RANGE");
}

TEST(PackRows, AgreesWithEnumerationOnTinyWindows) {
  for (std::uint32_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(seed);
    const random::Stream stream = testing::planted_stream(seed, 1);
    const random::RandomBits draw = stream.at(99, 0);
    const int num_samples = 1 + static_cast<int>(draw.below(0, 12));
    const int dp = 1 + static_cast<int>(draw.below(1, 4));
    const int row_multiple = 1 + static_cast<int>(draw.below(2, 2));
    const std::int64_t capacity = 3 + draw.below(3, 100);
    const std::int64_t high = 1 + stream.at(99, 1).below(0, static_cast<std::uint32_t>(capacity));
    const std::vector<std::int64_t> lengths =
        testing::uniform_window(num_samples, 1, high, capacity, stream).lengths;
    const std::int64_t fewest = testing::fewest_cells(lengths, capacity);
    const std::int64_t step = std::int64_t{dp} * row_multiple;
    const std::int64_t cells = base::round_up(fewest, step);
    if (cells > num_samples) {
      const Caught caught = catch_error([&] { (void)pack(lengths, capacity, dp, row_multiple); });
      EXPECT_EQ(
          caught.code, num_samples < dp ? "FEWER_SAMPLES_THAN_RANKS" : "NONEMPTY_CELLS_IMPOSSIBLE"
      );
      EXPECT_THAT(
          caught.text, ::testing::HasSubstr(std::to_string(cells - num_samples) + " padding")
      );
      continue;
    }
    const PackedRows packed = pack(lengths, capacity, dp, row_multiple);
    EXPECT_EQ(packed.certificate.num_rows, cells / dp);
    EXPECT_EQ(packed.certificate.status, RowStatus::kCertified);
    EXPECT_LE(packed.certificate.bound.cells, fewest);
    expect_sound(packed, lengths, capacity, dp, row_multiple);
  }
}

TEST(PackRows, FindsPlantedOptima) {
  for (std::uint32_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    const random::Stream stream = testing::planted_stream(seed, 2);
    const std::vector<PlantedWindow> windows = {
        testing::cut_full_cells(32, 32768, 30, stream),
        testing::all_equal(100, 37, 128),
        testing::one_per_cell(96, 4096, stream),
    };
    for (const PlantedWindow& window : windows) {
      SCOPED_TRACE(window.name);
      const PackedRows packed = pack(window.lengths, window.capacity_tokens, 4);
      EXPECT_EQ(
          packed.certificate.num_rows, base::round_up(*window.fewest_cells, std::int64_t{4}) / 4
      );
      EXPECT_EQ(packed.certificate.status, RowStatus::kCertified);
      expect_sound(packed, window.lengths, window.capacity_tokens, 4, 1);
    }
  }
}

TEST(PackRows, CellsBeyond32BitsAreTooMany) {
  EXPECT_EQ(
      catch_error([] {
        (void)pack({1, 1}, 1, 1 << 20, 1 << 20);
      }).code,
      "FEWER_SAMPLES_THAN_RANKS"
  );
}

TEST(PackRows, IsSoundOnRolloutLikeWindows) {
  for (std::uint32_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    const PlantedWindow window = testing::lognormal_window(
        256, seed % 2 == 0 ? 8192.0 : 16384.0, 0.8, 32768,
        seed < 3 ? testing::LongTail::kClipped : testing::LongTail::kRedrawn,
        testing::planted_stream(seed, 3)
    );
    const int dp = seed % 3 == 0 ? 1 : 8;
    const PackedRows packed = pack(window.lengths, window.capacity_tokens, dp);
    expect_sound(packed, window.lengths, window.capacity_tokens, dp, 1);
    EXPECT_EQ(packed.layout, pack(window.lengths, window.capacity_tokens, dp).layout);
  }
}

TEST(SearchPacking, GivesUpHonestly) {
  const PlantedWindow window = testing::triplets(20, testing::planted_stream(5, 4));
  const PaddedLengths padded{window.lengths};
  EXPECT_EQ(search_packing(padded, 1000, 20, 50).end, PackingEnd::kGaveUp);
  EXPECT_EQ(search_packing(padded, 1000, 19, 50).end, PackingEnd::kRefuted);
  const ExactSearch found = search_packing(padded, 1000, 60, 200'000);
  ASSERT_EQ(found.end, PackingEnd::kFound);
  EXPECT_LE(found.packing->num_cells, 60);
}

}  // namespace
}  // namespace routepack::packing
