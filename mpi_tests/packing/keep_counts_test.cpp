// Rules on numbers of samples: repairs keep them and the capacity, and rows are as few as the proof
// allows where that is known.
#include "packing/keep_counts.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "packing/bounds.hpp"
#include "packing/pack_rows.hpp"
#include "support/expect_error.hpp"
#include "support/random_window.hpp"

namespace routepack::packing {
namespace {

std::vector<std::int64_t> draw_lengths(int count, std::int64_t longest, testing::Draws& draws) {
  std::vector<std::int64_t> lengths;
  for (int sample = 0; sample < count; ++sample) {
    // Mostly short, some long: cells differ in their numbers of samples.
    lengths.push_back(1 + draws.below(draws.one_in(4) ? longest : longest / 6));
  }
  return lengths;
}

TEST(PackCountedRows, KeepsEveryRule) {
  testing::Draws draws{3};
  int repaired = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const Topology topology =
        trial % 2 == 0 ? Topology{.dp = 4, .ep = 4} : Topology{.dp = 6, .ep = 2};
    const int count = topology.dp * static_cast<int>(5 + draws.below(30));
    const PaddedLengths lengths = pad_lengths(draw_lengths(count, 90, draws), 1, 100);
    domain::CellRules rules{.capacity_tokens = 100};
    rules.equal_slots = trial % 3 != 0;
    if (trial % 3 != 1) {
      rules.max_samples = 4 + static_cast<int>(draws.below(4));
    }
    const int row_multiple = 1 + static_cast<int>(draws.below(2));
    const PackedRows free = pack_rows(lengths, 100, topology.dp, row_multiple, {});
    const PackedRows kept = pack_counted_rows(lengths, rules, topology, row_multiple, {});
    EXPECT_EQ(find_layout_fault(kept.layout, lengths, 100), "");
    EXPECT_EQ(find_count_fault(kept.layout, rules), "");
    EXPECT_EQ(kept.layout.num_rows, kept.certificate.num_rows);
    EXPECT_EQ(kept.certificate.num_rows % row_multiple, 0);
    EXPECT_GE(kept.certificate.num_rows, free.certificate.num_rows);
    EXPECT_GE(kept.certificate.num_rows, kept.certificate.lower_bound_rows);
    EXPECT_EQ(verify_bound(kept.certificate.bound, lengths, 100), kept.certificate.bound.cells);
    repaired += find_count_fault(free.layout, rules).empty() ? 0 : 1;
  }
  EXPECT_GT(repaired, 30);
}

// 24 short samples fit two rows of two cells by their tokens; at most three a cell take four rows.
TEST(PackCountedRows, CountsProveMoreRows) {
  const PaddedLengths lengths = pad_lengths(std::vector<std::int64_t>(24, 10), 1, 100);
  const domain::CellRules rules{.capacity_tokens = 100, .max_samples = 3};
  const PackedRows packed = pack_counted_rows(lengths, rules, {.dp = 2, .ep = 2}, 1, {});
  EXPECT_EQ(packed.certificate.num_rows, 4);
  EXPECT_EQ(packed.certificate.status, RowStatus::kCertified);
  EXPECT_EQ(packed.certificate.bound.kind, "count");
  EXPECT_EQ(packed.certificate.bound.cells, 8);
}

// Two slots of three full cells: one long sample and six short ones a slot, and no other way.
TEST(PackCountedRows, FindsTheOneWayToEqualSlots) {
  std::vector<std::int64_t> lengths = {100, 100};
  lengths.insert(lengths.end(), 12, 30);
  const PaddedLengths padded = pad_lengths(lengths, 1, 100);
  const domain::CellRules rules{.capacity_tokens = 100, .equal_slots = true};
  const PackedRows packed = pack_counted_rows(padded, rules, {.dp = 2, .ep = 2}, 1, {});
  EXPECT_EQ(packed.certificate.num_rows, 3);
  EXPECT_EQ(find_count_fault(packed.layout, rules), "");
}

TEST(PackCountedRows, RefusesWhatCannotBe) {
  const PaddedLengths lengths = pad_lengths(std::vector<std::int64_t>(10, 10), 1, 100);
  const domain::CellRules equal{.capacity_tokens = 100, .equal_slots = true};
  testing::expect_error(ErrorCode::kNonemptyCellsImpossible, "2 padding samples would do", [&] {
    (void)pack_counted_rows(lengths, equal, {.dp = 4, .ep = 4}, 1, {});
  });
}

TEST(FindCountFault, NamesTheCellOrTheSlots) {
  const CellLayout layout{
      1, 2, IndexVector<SampleId, CellId>{{CellId{0}, CellId{0}, CellId{0}, CellId{1}}}};
  EXPECT_EQ(
      find_count_fault(layout, {.max_samples = 2}),
      "cell (row 0, slot 0) holds 3 samples, at most 2 are allowed"
  );
  EXPECT_EQ(
      find_count_fault(layout, {.equal_slots = true}),
      "DP slots hold 1 to 3 samples, not the same number"
  );
  EXPECT_EQ(find_count_fault(layout, {.max_samples = 3}), "");
}

}  // namespace
}  // namespace routepack::packing
