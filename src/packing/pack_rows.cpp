#include "packing/pack_rows.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.hpp"
#include "packing/bounds.hpp"
#include "packing/cell_packing.hpp"
#include "packing/fits.hpp"
#include "packing/keep_counts.hpp"
#include "packing/row_search.hpp"

namespace routepack::packing {
namespace {

// The best packing and the best bound so far. Both count cells; what matters is the multiple of
// `step` = dp * row_multiple cells above each.
class RowBracket {
 public:
  RowBracket(const PaddedLengths& padded, std::int64_t capacity, std::int64_t step)
      : padded_(padded),
        capacity_(capacity),
        step_(step),
        lengths_(count_lengths(padded)),
        bound_(best_simple_bound(lengths_, capacity)),
        packing_(pack_best_fit_decreasing(padded, capacity)) {}

  [[nodiscard]] std::int64_t lower_cells() const { return base::round_up(bound_.cells, step_); }
  [[nodiscard]] std::int64_t upper_cells() const {
    return base::round_up(std::int64_t{packing_.num_cells}, step_);
  }
  // No number of rows is left between bound and packing, or only ones that leave cells empty.
  [[nodiscard]] bool closed() const {
    return lower_cells() == upper_cells() || lower_cells() > num_samples();
  }
  // The most cells that would save a row multiple, or make all cells nonempty.
  [[nodiscard]] std::int64_t target_cells() const {
    return std::min(upper_cells() - step_, num_samples() / step_ * step_);
  }

  void improve_bound(CellBound bound) {
    if (bound.cells > bound_.cells) {
      bound_ = std::move(bound);
    }
  }
  void improve_packing(CellPacking packing) {
    if (packing.num_cells < packing_.num_cells) {
      packing_ = std::move(packing);
    }
  }

  // Complete search for the target; decides it for few samples.
  void search_target(std::int64_t max_nodes) {
    ExactSearch search = search_packing(padded_, capacity_, target_cells(), max_nodes);
    if (search.end == PackingEnd::kFound) {
      improve_packing(std::move(*search.packing));
    } else if (search.end == PackingEnd::kRefuted) {
      improve_bound(refuted_cells_bound(target_cells(), max_nodes));
    }
  }

  // Pool search for the target. Each `attempt` draws differently.
  void search_target_with_pool(
      const PoolSearchLimits& limits, const domain::Tuning::Pool& tuning, std::uint32_t attempt
  ) {
    std::optional<CellPacking> packing = search_with_pool(
        padded_, capacity_, target_cells(), limits,
        random::Stream{0, random::Purpose::kRowSearch, attempt}, tuning
    );
    if (packing) {
      improve_packing(std::move(*packing));
    }
  }

  [[nodiscard]] std::int64_t num_samples() const {
    return static_cast<std::int64_t>(padded_.size());
  }
  [[nodiscard]] const std::vector<LengthCount>& lengths() const { return lengths_; }
  [[nodiscard]] const CellBound& bound() const { return bound_; }
  [[nodiscard]] const CellPacking& packing() const { return packing_; }

 private:
  const PaddedLengths& padded_;
  std::int64_t capacity_;
  std::int64_t step_;
  std::vector<LengthCount> lengths_;
  CellBound bound_;
  CellPacking packing_;
};

// From cheap to dear, for one target after the other; ends when the bracket is closed, or when the
// whole effort has neither reached the target nor refuted it.
void close_bracket(
    RowBracket& bracket,
    const PaddedLengths& padded,
    std::int64_t capacity,
    const domain::Tuning& tuning
) {
  if (bracket.closed()) {
    return;
  }
  const domain::Tuning::Packing& packing = tuning.packing;
  const std::int64_t best_lambda = std::max(bracket.bound().lambda, std::int64_t{1});
  bracket.improve_packing(pack_minimum_slack(
      padded, capacity, {packing.max_nodes_per_cell, capacity / packing.tolerance_share}
  ));
  while (!bracket.closed()) {
    const std::int64_t target = bracket.target_cells();
    const auto undecided = [&] { return !bracket.closed() && bracket.target_cells() == target; };
    if (padded.size() <= packing.max_searched_samples) {
      bracket.search_target(packing.max_search_nodes);
    }
    if (undecided()) {
      bracket.search_target_with_pool({best_lambda, packing.max_pool_steps / 4}, tuning.pool, 0);
    }
    if (undecided()) {
      bracket.improve_bound(best_dual_feasible_bound(bracket.lengths(), capacity, packing));
    }
    if (undecided()) {
      bracket.search_target_with_pool({best_lambda, packing.max_pool_steps}, tuning.pool, 1);
    }
    if (undecided() && best_lambda > 1) {
      bracket.search_target_with_pool({1, packing.max_pool_steps}, tuning.pool, 2);
    }
    if (undecided()) {
      return;
    }
  }
}

// One sample a cell always fits, so enough samples for the next whole number of rows are enough; no
// fewer help, because the cells grow by whole rows.
std::int64_t count_padding_samples(std::size_t num_samples, int dp, int row_multiple) {
  const auto present = static_cast<std::int64_t>(num_samples);
  return base::round_up(std::max(present, std::int64_t{1}), std::int64_t{dp} * row_multiple) -
         present;
}

void check_sizes(const PaddedLengths& padded, std::int64_t capacity, int dp, int row_multiple) {
  RP_CHECK(
      dp >= 1 && row_multiple >= 1 && capacity >= 1, ErrorCode::kNumberOutOfRange,
      "dp is {}, row multiple {}, capacity {}: each must be at least 1", dp, row_multiple, capacity
  );
  RP_CHECK(
      padded.size() >= static_cast<std::size_t>(dp), ErrorCode::kFewerSamplesThanRanks,
      "{} samples for dp = {}: every DP slot needs one in each row; {} padding samples would do",
      padded.size(), dp, count_padding_samples(padded.size(), dp, row_multiple)
  );
}

}  // namespace

PackedRows pack_rows(
    const PaddedLengths& padded,
    std::int64_t capacity,
    int dp,
    int row_multiple,
    const domain::Tuning& tuning
) {
  check_sizes(padded, capacity, dp, row_multiple);
  const std::int64_t step = std::int64_t{dp} * row_multiple;
  RowBracket bracket{padded, capacity, step};
  close_bracket(bracket, padded, capacity, tuning);

  const std::int64_t num_padding = count_padding_samples(padded.size(), dp, row_multiple);
  RP_CHECK(
      bracket.lower_cells() <= bracket.num_samples(), ErrorCode::kNonemptyCellsImpossible,
      "{} samples need {} rows of {} cells (row multiple {}), more cells than samples; {} padding "
      "samples would do",
      bracket.num_samples(), bracket.lower_cells() / dp, dp, row_multiple, num_padding
  );
  RP_CHECK(
      bracket.upper_cells() <= bracket.num_samples(), ErrorCode::kNonemptyCellsImpossible,
      "no packing of {} samples into {} rows of {} cells (row multiple {}) was found, and more "
      "rows leave cells empty; {} padding samples would do",
      bracket.num_samples(), bracket.target_cells() / dp, dp, row_multiple, num_padding
  );

  PackedRows packed;
  const int num_rows = static_cast<int>(bracket.upper_cells() / dp);
  packed.layout = spread_over_rows(bracket.packing(), padded, num_rows, dp);
  packed.certificate.num_rows = num_rows;
  packed.certificate.lower_bound_rows = static_cast<int>(bracket.lower_cells() / dp);
  packed.certificate.status = bracket.lower_cells() == bracket.upper_cells()
                                  ? RowStatus::kCertified
                                  : RowStatus::kBestKnown;
  packed.certificate.bound = bracket.bound();
  return packed;
}

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
    const domain::CellRules& rules,
    const Topology& topology,
    int num_rows,
    const domain::Tuning::Counts& tuning
) {
  const CellPacking cells{packed.layout.num_cells(), packed.layout.cell_of_sample};
  const CellLayout spread = spread_over_rows(cells, lengths, num_rows, topology.dp);
  for (std::uint32_t attempt = 0; attempt < tuning.attempts; ++attempt) {
    std::optional<CellLayout> kept = keep_counts(
        spread, lengths, rules, topology, random::Stream{0, random::Purpose::kRowCounts, attempt},
        tuning
    );
    if (kept) {
      return kept;
    }
  }
  return std::nullopt;
}

}  // namespace

PackedRows pack_counted_rows(
    const PaddedLengths& lengths,
    const domain::CellRules& rules,
    const Topology& topology,
    int row_multiple,
    const domain::Tuning& tuning
) {
  PackedRows packed = pack_rows(lengths, rules.capacity_tokens, topology.dp, row_multiple, tuning);
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
    certificate.lower_bound_rows =
        static_cast<int>(base::round_up(by_count.cells, step) / topology.dp);
  }
  const std::int64_t most_rows = num_samples / topology.dp;
  for (int rows = std::max(certificate.num_rows, certificate.lower_bound_rows); rows <= most_rows;
       rows += row_multiple) {
    std::optional<CellLayout> layout =
        lay_out(packed, lengths, rules, topology, rows, tuning.counts);
    if (layout) {
      packed.layout = std::move(*layout);
      certificate.num_rows = rows;
      certificate.status =
          rows == certificate.lower_bound_rows ? RowStatus::kCertified : RowStatus::kBestKnown;
      return packed;
    }
  }
  base::fail(
      ErrorCode::kNonemptyCellsImpossible,
      "no layout of {} samples in {} to {} rows of {} cells was found with {}{}{}", num_samples,
      std::max(certificate.num_rows, certificate.lower_bound_rows), most_rows, topology.dp,
      rules.equal_slots ? "the same number of samples in every DP slot" : "",
      rules.equal_slots && by_count.parts > 0 ? " and " : "",
      by_count.parts > 0 ? fmt::format("at most {} samples a cell", rules.max_samples) : ""
  );
}

}  // namespace routepack::packing
