#include "packing/keep_counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/check.hpp"
#include "packing/cell_packing.hpp"

namespace routepack::packing {
namespace {

std::vector<std::int64_t> samples_by_slot(const CellLayout& layout) {
  std::vector<std::int64_t> held(static_cast<std::size_t>(layout.dp), 0);
  for (const CellId cell : layout.cell_of_sample) {
    ++held[layout.slot_of(cell).offset()];
  }
  return held;
}

// The cells of every block change their slots, row by row: the fullest cells go to the slots that
// have fewest samples so far. A block's cost does not depend on the order of its cells.
CellLayout deal_cells_to_slots(const CellLayout& layout, int cells_per_block) {
  const auto per_block = static_cast<std::size_t>(cells_per_block);
  IndexVector<CellId, std::int64_t> held{static_cast<std::size_t>(layout.num_cells()), 0};
  for (const CellId cell : layout.cell_of_sample) {
    ++held[cell];
  }
  std::vector<std::int64_t> slot_sum(static_cast<std::size_t>(layout.dp), 0);
  IndexVector<CellId, CellId> target{held.size()};
  for (std::size_t first = 0; first < held.size(); first += per_block) {
    std::vector<std::size_t> cells(per_block);
    std::iota(cells.begin(), cells.end(), first);
    std::vector<std::size_t> places = cells;
    const auto sum_of = [&](std::size_t place) -> std::int64_t& {
      return slot_sum[place % slot_sum.size()];
    };
    std::ranges::stable_sort(cells, [&](std::size_t x, std::size_t y) {
      return held[CellId{x}] > held[CellId{y}];
    });
    std::ranges::stable_sort(places, [&](std::size_t x, std::size_t y) {
      return sum_of(x) < sum_of(y);
    });
    for (std::size_t n = 0; n < per_block; ++n) {
      target[CellId{cells[n]}] = CellId{places[n]};
      sum_of(places[n]) += held[CellId{cells[n]}];
    }
  }
  CellLayout dealt = layout;
  for (CellId& cell : dealt.cell_of_sample) {
    cell = target[cell];
  }
  return dealt;
}

// Moves samples out of cells and slots that have too many into those that may have more.
class CountRepair {
 public:
  CountRepair(
      const CellLayout& layout,
      const PaddedLengths& lengths,
      const domain::CellRules& rules,
      const random::Stream& stream,
      const domain::Tuning::Counts& tuning
  )
      : lengths_(lengths),
        rules_(rules),
        stream_(stream),
        tuning_(tuning),
        layout_(layout),
        contents_(lengths, lengths, layout.num_cells()),
        in_slot_(samples_by_slot(layout)),
        per_slot_(static_cast<std::int64_t>(lengths.size()) / layout.dp) {
    for (const SampleId sample : ids<SampleId>(lengths.size())) {
      contents_.put(sample, layout.cell_of_sample[sample]);
    }
    find_ends();
  }

  // False where the steps are spent first.
  bool run() {
    const std::int64_t most = std::min(
        tuning_.steps_per_sample * static_cast<std::int64_t>(lengths_.size()), tuning_.most_steps
    );
    for (std::int64_t step = 0; step < most && !sources_.empty(); ++step) {
      const CellId from = sources_[draw(sources_.size())];
      const CellId to = target_for(from);
      if (may_take_one(from, to) && (move_one(from, to) || exchange_two_for_one(from, to))) {
        find_ends();
      } else {
        swap_at_random();
      }
    }
    return sources_.empty();
  }

  [[nodiscard]] CellLayout layout() const {
    CellLayout layout = layout_;
    layout.cell_of_sample = contents_.cell_of_sample();
    return layout;
  }

 private:
  [[nodiscard]] std::size_t draw(std::size_t bound) {
    return stream_.at(0, next_++).below(0, static_cast<std::uint32_t>(bound));
  }
  [[nodiscard]] std::int64_t held(CellId cell) const {
    return static_cast<std::int64_t>(contents_.samples(cell).size());
  }
  [[nodiscard]] std::int64_t& slot_count(CellId cell) {
    return in_slot_[layout_.slot_of(cell).offset()];
  }
  [[nodiscard]] bool is_overfull(CellId cell) const { return held(cell) > rules_.max_samples; }

  // Cells that should give a sample away.
  void find_ends() {
    sources_.clear();
    for (const CellId cell : ids<CellId>(contents_.num_cells())) {
      const bool slot_gives = rules_.equal_slots && slot_count(cell) > per_slot_;
      if (is_overfull(cell) || (slot_gives && held(cell) > 1)) {
        sources_.push_back(cell);
      }
    }
  }

  // A cell at random: where the slot has too many of another slot, else of the same one.
  [[nodiscard]] CellId target_for(CellId from) {
    const auto num_cells = static_cast<std::size_t>(contents_.num_cells());
    if (rules_.equal_slots && slot_count(from) <= per_slot_) {
      const std::size_t row = draw(static_cast<std::size_t>(layout_.num_rows));
      return layout_.cell(RowId{row}, layout_.slot_of(from));
    }
    return CellId{draw(num_cells)};
  }

  [[nodiscard]] bool may_take_one(CellId from, CellId to) {
    if (from == to || held(to) >= rules_.max_samples) {
      return false;
    }
    const bool same_slot = layout_.slot_of(from) == layout_.slot_of(to);
    return !rules_.equal_slots || same_slot || slot_count(to) < per_slot_;
  }

  [[nodiscard]] SampleId any_of(CellId cell) {
    const std::vector<SampleId>& samples = contents_.samples(cell);
    return samples[draw(samples.size())];
  }

  void move(SampleId sample, CellId to) {
    --slot_count(contents_.cell_of(sample));
    ++slot_count(to);
    contents_.move(sample, to);
  }

  bool move_one(CellId from, CellId to) {
    const SampleId sample = any_of(from);
    if (contents_.tokens(to) + lengths_[sample] > rules_.capacity_tokens) {
      return false;
    }
    move(sample, to);
    return true;
  }

  bool exchange_two_for_one(CellId from, CellId to) {
    for (int n = 0; n < tuning_.exchange_tries; ++n) {
      const SampleId first = any_of(from);
      const SampleId second = any_of(from);
      const SampleId back = any_of(to);
      const std::int64_t shift = lengths_[first] + lengths_[second] - lengths_[back];
      if (first != second && contents_.tokens(to) + shift <= rules_.capacity_tokens &&
          contents_.tokens(from) - shift <= rules_.capacity_tokens) {
        move(first, to);
        move(second, to);
        move(back, from);
        return true;
      }
    }
    return false;
  }

  // Room moves about, numbers stay.
  void swap_at_random() {
    const auto num_samples = lengths_.size();
    const SampleId a{draw(num_samples)};
    const SampleId b{draw(num_samples)};
    const CellId cell_a = contents_.cell_of(a);
    const CellId cell_b = contents_.cell_of(b);
    const std::int64_t shift = lengths_[a] - lengths_[b];
    if (cell_a != cell_b && contents_.tokens(cell_a) - shift <= rules_.capacity_tokens &&
        contents_.tokens(cell_b) + shift <= rules_.capacity_tokens) {
      contents_.swap(a, b);
    }
  }

  const PaddedLengths& lengths_;
  const domain::CellRules& rules_;
  const random::Stream& stream_;
  const domain::Tuning::Counts& tuning_;
  const CellLayout& layout_;
  CellContents contents_;
  std::vector<std::int64_t> in_slot_;
  std::int64_t per_slot_;
  std::vector<CellId> sources_;
  std::uint64_t next_ = 0;  // draws so far
};

}  // namespace

std::string find_count_fault(const CellLayout& layout, const domain::CellRules& rules) {
  const IndexVector<CellId, std::vector<SampleId>> cells = samples_by_cell(layout);
  for (const CellId cell : ids<CellId>(cells.size())) {
    if (std::cmp_greater(cells[cell].size(), rules.max_samples)) {
      return fmt::format(
          "cell (row {}, slot {}) holds {} samples, at most {} are allowed",
          layout.row_of(cell).value(), layout.slot_of(cell).value(), cells[cell].size(),
          rules.max_samples
      );
    }
  }
  const std::vector<std::int64_t> held = samples_by_slot(layout);
  const auto [fewest, most] = std::ranges::minmax_element(held);
  if (rules.equal_slots && *fewest != *most) {
    return fmt::format("DP slots hold {} to {} samples, not the same number", *fewest, *most);
  }
  return {};
}

std::optional<CellLayout> keep_counts(
    const CellLayout& layout,
    const PaddedLengths& lengths,
    const domain::CellRules& rules,
    const Topology& topology,
    const random::Stream& stream,
    const domain::Tuning::Counts& tuning
) {
  const CellLayout start =
      rules.equal_slots ? deal_cells_to_slots(layout, topology.dp_per_shard()) : layout;
  CountRepair repair(start, lengths, rules, stream, tuning);
  if (!repair.run()) {
    return std::nullopt;
  }
  CellLayout kept = repair.layout();
  const std::string fault = find_count_fault(kept, rules);
  RP_ASSERT(light, fault.empty(), "{}", fault);
  return kept;
}

}  // namespace routepack::packing
