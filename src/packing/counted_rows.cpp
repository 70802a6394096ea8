#include "packing/counted_rows.hpp"

#include <algorithm>
#include <optional>

#include "base/check.hpp"
#include "base/checked.hpp"
#include "packing/bounds.hpp"
#include "packing/cell_packing.hpp"
#include "packing/keep_counts.hpp"

namespace routepack {
namespace {

void check_divisible(std::int64_t num_samples, int dp) {
  const std::int64_t over = num_samples % dp;
  RP_CHECK(
      over == 0, ErrorCode::kNonemptyCellsImpossible,
      "{} samples cannot be the same number on each of {} DP slots; {} padding samples would do",
      num_samples, dp, dp - over
  );
}

// The layout of `packed` in so many rows, under the rules.
std::optional<CellLayout> lay_out(
    const PackedRows& packed,
    const PaddedLengths& lengths,
    const CellRules& rules,
    const Topology& topology,
    int num_rows
) {
  constexpr std::uint32_t kAttempts = 4;
  const CellPacking cells{packed.layout.num_cells(), packed.layout.cell_of_sample};
  const CellLayout spread = spread_over_rows(cells, lengths, num_rows, topology.dp);
  for (std::uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
    std::optional<CellLayout> kept =
        keep_counts(spread, lengths, rules, topology, Stream{0, Purpose::kRowCounts, attempt});
    if (kept) {
      return kept;
    }
  }
  return std::nullopt;
}

}  // namespace

PackedRows pack_counted_rows(
    const PaddedLengths& lengths,
    const CellRules& rules,
    const Topology& topology,
    int row_multiple,
    const PackingEffort& effort
) {
  PackedRows packed = pack_rows(lengths, rules.capacity_tokens, topology.dp, row_multiple, effort);
  if (!rules.limit_counts()) {
    return packed;
  }
  const auto num_samples = static_cast<std::int64_t>(lengths.size());
  if (rules.equal_slots) {
    check_divisible(num_samples, topology.dp);
  }
  RowCertificate& certificate = packed.certificate;
  const CellBound by_count = count_bound(num_samples, rules.max_samples);
  if (by_count.cells > certificate.bound.cells) {
    certificate.bound = by_count;
    const std::int64_t step = std::int64_t{topology.dp} * row_multiple;
    certificate.lower_bound_rows = static_cast<int>(round_up(by_count.cells, step) / topology.dp);
  }
  const std::int64_t most_rows = num_samples / topology.dp;
  for (int rows = std::max(certificate.num_rows, certificate.lower_bound_rows); rows <= most_rows;
       rows += row_multiple) {
    std::optional<CellLayout> layout = lay_out(packed, lengths, rules, topology, rows);
    if (layout) {
      packed.layout = std::move(*layout);
      certificate.num_rows = rows;
      certificate.status =
          rows == certificate.lower_bound_rows ? RowStatus::kCertified : RowStatus::kBestKnown;
      return packed;
    }
  }
  fail(
      ErrorCode::kNonemptyCellsImpossible,
      "no layout of {} samples in {} to {} rows of {} cells was found with {}{}{}", num_samples,
      std::max(certificate.num_rows, certificate.lower_bound_rows), most_rows, topology.dp,
      rules.equal_slots ? "the same number of samples in every DP slot" : "",
      rules.equal_slots && by_count.parts > 0 ? " and " : "",
      by_count.parts > 0 ? fmt::format("at most {} samples a cell", rules.max_samples) : ""
  );
}

}  // namespace routepack
