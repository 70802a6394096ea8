#include "objective/attention_bound.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include "objective/attention_cost.hpp"

namespace routepack {
namespace {

// Costs of samples and of what may share a cell with them.
class CellCosts {
 public:
  CellCosts(
      const IndexVector<SampleId, std::int64_t>& padded_lengths,
      const AttentionStage& stage,
      const CellRules& rules
  )
      : stage_(stage), rules_(rules), ascending_(padded_lengths.values()) {
    std::sort(ascending_.begin(), ascending_.end());
  }

  [[nodiscard]] double of_sample(std::int64_t length) const {
    return attention_cost(stage_, length, rules_.capacity_tokens);
  }

  // No cell whose longest sample has this length costs more, before it is filled up. Costs are
  // convex in the length and 0 at 0, so samples of at most `other` tokens cost most as many of
  // `other` as fit, and a rest.
  [[nodiscard]] double ceiling(std::int64_t longest) const {
    const std::int64_t room = std::max<std::int64_t>(0, rules_.capacity_tokens - longest);
    const auto above =
        std::upper_bound(ascending_.begin(), ascending_.end(), std::min(room, longest));
    if (above == ascending_.begin()) {
      return of_sample(longest);  // nothing fits beside it
    }
    const std::int64_t other = *(above - 1);
    const std::int64_t whole = room / other;
    return of_sample(longest) + static_cast<double>(whole) * of_sample(other) +
           of_sample(room % other);
  }

  // Costs, descending, such that at least j + 1 cells cost as much as the j-th.
  [[nodiscard]] std::vector<double> forced(int num_cells) const {
    const std::size_t num_samples = ascending_.size();
    const auto cells = std::min(num_samples, static_cast<std::size_t>(num_cells));
    const std::size_t spare = num_samples - cells;  // samples that are not the longest of a cell
    std::vector<double> costs;
    for (std::size_t place = 0; place < cells; ++place) {
      const std::int64_t length = ascending_[num_samples - 1 - place];
      // The longest, those that share a cell with no other such, and what the others leave.
      const bool own_cell = place == 0 || length > rules_.capacity_tokens - length;
      costs.push_back(of_sample(own_cell ? length : ascending_[num_samples - 1 - place - spare]));
    }
    return costs;
  }

 private:
  const AttentionStage& stage_;
  const CellRules& rules_;
  std::vector<std::int64_t> ascending_;
};

}  // namespace

AttentionBound attention_lower_bound(
    const IndexVector<SampleId, std::int64_t>& padded_lengths,
    const AttentionStage& stage,
    const CellGrid& grid,
    const CellRules& rules
) {
  const CellCosts costs(padded_lengths, stage, rules);
  double total = 0.0;
  std::vector<double> ceilings;  // of the cell whose longest sample it is
  for (const std::int64_t length : padded_lengths) {
    total += costs.of_sample(length);
    ceilings.push_back(costs.ceiling(length));
  }
  std::sort(ceilings.begin(), ceilings.end(), std::greater<>());
  const std::vector<double> forced = costs.forced(grid.num_cells);
  const auto per_block = static_cast<std::size_t>(grid.cells_per_block);
  double chunks = 0.0;  // ∫K dx
  double held = 0.0;    // ∫min(D·K, M) dx, cell by cell in the order of their costs
  for (std::size_t first = 0; first < forced.size(); first += per_block) {
    chunks += forced[first];
    for (std::size_t cell = first; cell < std::min(first + per_block, ceilings.size()); ++cell) {
      held += std::min(forced[first], ceilings[cell]);
    }
  }
  const double mean = total / grid.cells_per_block;
  const double cost = chunks + std::max(0.0, total - held) / grid.cells_per_block;
  return AttentionBound{std::max(mean, cost), cost > mean * (1.0 + 1e-12)};
}

}  // namespace routepack
