#include "packing/fits.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/check.hpp"
#include "packing/cell_packing.hpp"

namespace routepack::packing {
FirstFit first_fit_decreasing(
    const PaddedLengths& padded, std::int64_t capacity, int dp, int row_multiple
) {
  RP_CHECK(
      dp >= 1 && row_multiple >= 1 && capacity >= 1, ErrorCode::kNumberOutOfRange,
      "dp is {}, row multiple {}, capacity {}: each must be at least 1", dp, row_multiple, capacity
  );
  // A first fit into n cells is the first fit into any number of cells, cut off after the nth; so
  // one run tells how many rows it needs.
  const CellPacking packing = pack_first_fit(padded, capacity, longest_first(padded));
  const std::int64_t needed_cells = std::max(packing.num_cells, 1);
  const std::int64_t rows =
      base::round_up(base::ceil_divide(needed_cells, std::int64_t{dp}), std::int64_t{row_multiple});
  RP_CHECK(
      rows <= std::numeric_limits<std::int32_t>::max() / dp, ErrorCode::kNumberOutOfRange,
      "{} rows of {} cells are more cells than can be numbered", rows, dp
  );
  const int num_rows = static_cast<int>(rows);
  if (padded.size() < static_cast<std::size_t>(rows * dp)) {
    return {CellLayout{num_rows, dp, packing.cell_of_sample}, false};
  }
  return {spread_over_rows(packing, padded, num_rows, dp), true};
}

namespace {

// The samples left, by distinct length descending, in a list that skips used-up lengths.
class SlackFit {
 public:
  SlackFit(const PaddedLengths& padded, std::int64_t capacity, const SlackFitLimits& limits)
      : capacity_(capacity), limits_(limits) {
    for (const SampleId sample : longest_first(padded)) {
      if (groups_.empty() || groups_.back().length != padded[sample]) {
        groups_.push_back({padded[sample], {}, 0});
      }
      groups_.back().samples.push_back(sample);
    }
    for (std::size_t group = 0; group <= groups_.size(); ++group) {
      next_.push_back(group);
    }
  }

  CellPacking run(std::size_t num_samples) {
    CellPacking packing{0, IndexVector<SampleId, CellId>{num_samples}};
    std::vector<std::size_t> cell;
    for (std::size_t first = live(0); first < groups_.size(); first = live(first)) {
      chosen_.clear();
      best_room_ = capacity_ + 1;
      nodes_ = 0;
      take(first);
      try_completions(first, capacity_ - groups_[first].length);
      put_back(first);
      cell = best_;
      cell.push_back(first);
      for (const std::size_t group : cell) {
        packing.cell_of_sample[use(group)] = CellId{packing.num_cells};
      }
      ++packing.num_cells;
    }
    return packing;
  }

 private:
  struct Group {
    std::int64_t length = 0;
    std::vector<SampleId> samples;
    std::size_t used = 0;  // samples in cells, or chosen for the one in hand
  };

  // The first group from this one on with a sample left (path halving keeps the walks short).
  std::size_t live(std::size_t group) {
    while (next_[group] != group) {
      next_[group] = next_[next_[group]];
      group = next_[group];
    }
    return group;
  }

  [[nodiscard]] bool has_sample(std::size_t group) const {
    return groups_[group].used < groups_[group].samples.size();
  }
  void take(std::size_t group) { ++groups_[group].used; }
  void put_back(std::size_t group) { --groups_[group].used; }
  SampleId use(std::size_t group) {
    const SampleId sample = groups_[group].samples[groups_[group].used++];
    if (!has_sample(group)) {
      next_[group] = group + 1;
    }
    return sample;
  }

  // Depth first, longest first; true when nothing better can come (full enough or nodes spent).
  bool try_completions(std::size_t from, std::int64_t room) {
    if (room < best_room_) {
      best_room_ = room;
      best_ = chosen_;
      if (room <= limits_.tolerance_tokens) {
        return true;
      }
    }
    for (std::size_t group = first_fitting(from, room); group < groups_.size();
         group = live(group + 1)) {
      if (++nodes_ > limits_.max_nodes_per_cell) {
        return true;
      }
      if (!has_sample(group)) {
        continue;
      }
      take(group);
      chosen_.push_back(group);
      const bool done = try_completions(group, room - groups_[group].length);
      chosen_.pop_back();
      put_back(group);
      if (done) {
        return true;
      }
    }
    return false;
  }

  std::size_t first_fitting(std::size_t from, std::int64_t room) {
    const auto begin = groups_.begin() + static_cast<std::ptrdiff_t>(from);
    const auto found = std::partition_point(begin, groups_.end(), [&](const Group& group) {
      return group.length > room;
    });
    return live(static_cast<std::size_t>(found - groups_.begin()));
  }

  std::int64_t capacity_;
  SlackFitLimits limits_;
  std::vector<Group> groups_;
  std::vector<std::size_t> next_;
  std::vector<std::size_t> chosen_;
  std::vector<std::size_t> best_;
  std::int64_t best_room_ = 0;
  std::int64_t nodes_ = 0;
};

}  // namespace

CellPacking pack_minimum_slack(
    const PaddedLengths& padded, std::int64_t capacity, const SlackFitLimits& limits
) {
  return SlackFit{padded, capacity, limits}.run(padded.size());
}

}  // namespace routepack::packing
