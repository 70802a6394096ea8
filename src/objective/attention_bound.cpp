#include "objective/attention_bound.hpp"

#include <algorithm>
#include <functional>
#include <vector>

namespace routepack {
namespace {

// Costs of samples and of what may share a cell with them.
class CellCosts {
 public:
  CellCosts(
      const IndexVector<SampleId, std::int64_t>& padded_lengths,
      const AttentionStage& stage,
      std::int64_t capacity_tokens
  )
      : stage_(stage), capacity_(capacity_tokens), ascending_(padded_lengths.values()) {
    std::sort(ascending_.begin(), ascending_.end());
  }

  [[nodiscard]] double of_sample(std::int64_t length) const {
    const double fill = static_cast<double>(length) / static_cast<double>(capacity_);
    return stage_.alpha * fill + stage_.beta * fill * fill;
  }

  // No cell whose longest sample has this length costs more. Costs are convex in the length and 0
  // at 0, so samples of at most `other` tokens cost most as many of `other` as fit, and a rest.
  [[nodiscard]] double ceiling(std::int64_t longest) const {
    const std::int64_t room = capacity_ - longest;
    const auto above =
        std::upper_bound(ascending_.begin(), ascending_.end(), std::min(room, longest));
    if (above == ascending_.begin()) {
      return of_sample(longest);  // nothing fits beside it
    }
    const std::int64_t other = *(above - 1);
    return of_sample(longest) + static_cast<double>(room / other) * of_sample(other) +
           of_sample(room % other);
  }

 private:
  const AttentionStage& stage_;
  std::int64_t capacity_;
  std::vector<std::int64_t> ascending_;
};

}  // namespace

AttentionBound attention_lower_bound(
    const IndexVector<SampleId, std::int64_t>& padded_lengths,
    const AttentionStage& stage,
    std::int64_t capacity_tokens,
    int dp_per_shard
) {
  const CellCosts costs(padded_lengths, stage, capacity_tokens);
  double total = 0.0;
  std::vector<double> alone;     // costs of the samples that share no cell with another such
  std::vector<double> ceilings;  // of the cell whose longest sample it is
  for (const std::int64_t length : padded_lengths) {
    total += costs.of_sample(length);
    if (2 * length > capacity_tokens) {
      alone.push_back(costs.of_sample(length));
    }
    ceilings.push_back(costs.ceiling(length));
  }
  std::sort(alone.begin(), alone.end(), std::greater<>());
  std::sort(ceilings.begin(), ceilings.end(), std::greater<>());
  const auto per_shard = static_cast<std::size_t>(dp_per_shard);
  double chunks = 0.0;  // ∫K dx
  double held = 0.0;    // ∫min(D·K, M) dx, cell by cell in the order of their costs
  for (std::size_t first = 0; first < alone.size(); first += per_shard) {
    chunks += alone[first];
    for (std::size_t cell = first; cell < std::min(first + per_shard, ceilings.size()); ++cell) {
      held += std::min(alone[first], ceilings[cell]);
    }
  }
  const double mean = total / dp_per_shard;
  const double cost = chunks + std::max(0.0, total - held) / dp_per_shard;
  return AttentionBound{std::max(mean, cost), cost > mean * (1.0 + 1e-12)};
}

}  // namespace routepack
