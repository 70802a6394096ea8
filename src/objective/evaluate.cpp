#include "objective/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/check.hpp"
#include "objective/attention_cost.hpp"

namespace routepack::objective {
namespace {

double attention_of_block(
    const CellSums& cells,
    BlockId block,
    const Topology& topology,
    const CostModel& cost,
    const domain::CellRules& rules
) {
  double attention = 0.0;
  for (const AttentionStage& stage : cost.stages) {
    double slowest = 0.0;
    for (int position = 0; position < topology.dp_per_shard(); ++position) {
      const CellId cell{block.value() * topology.dp_per_shard() + position};
      const std::int64_t tokens = cells.tokens[cell] + rules.fill_of(cells.tokens[cell]);
      slowest = std::max(
          slowest, attention_cost(stage, tokens, cells.squared_tokens[cell], cost.capacity_tokens)
      );
    }
    attention += slowest;
  }
  return attention;
}

// The pairs of the tokens that fill cells up, at every layer.
void add_fill_in_place(
    std::vector<std::int64_t>& block_loads,
    const CellSums& cells,
    int num_moe_layers,
    const Topology& topology,
    const domain::CellRules& rules
) {
  if (rules.pairs_per_fill == 0) {
    return;
  }
  auto load = block_loads.begin();
  for (int block = 0; load != block_loads.end(); ++block) {
    std::vector<std::int64_t> gained(static_cast<std::size_t>(topology.ep), 0);
    for (int position = 0; position < topology.dp_per_shard(); ++position) {
      const CellId cell{block * topology.dp_per_shard() + position};
      const std::int64_t fill = rules.fill_of(cells.tokens[cell]);
      for (int rank = 0; rank < topology.ep; ++rank) {
        gained[static_cast<std::size_t>(rank)] += rules.fill_pairs(fill, rank, topology.ep);
      }
    }
    for (int layer = 0; layer < num_moe_layers; ++layer) {
      for (const std::int64_t pairs : gained) {
        *load++ += pairs;
      }
    }
  }
}

// Mean over layers of the EP ranks' standard deviation by mean, population form; idle layers are 0.
double mean_variation(
    std::span<const std::int64_t> block_loads, std::size_t layers, std::size_t ep
) {
  std::vector<std::int64_t> totals(layers * ep, 0);
  for (std::size_t at = 0; at < block_loads.size(); ++at) {
    totals[at % totals.size()] += block_loads[at];
  }
  double variation = 0.0;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    double sum = 0.0;
    for (std::size_t rank = 0; rank < ep; ++rank) {
      sum += static_cast<double>(totals[layer * ep + rank]);
    }
    const double mean = sum / static_cast<double>(ep);
    double squares = 0.0;
    for (std::size_t rank = 0; rank < ep; ++rank) {
      const double off = static_cast<double>(totals[layer * ep + rank]) - mean;
      squares += off * off;
    }
    variation += mean > 0.0 ? std::sqrt(squares / static_cast<double>(ep)) / mean : 0.0;
  }
  return layers > 0 ? variation / static_cast<double>(layers) : 0.0;
}

}  // namespace

void check_squared_lengths(
    const IndexVector<SampleId, std::int64_t>& padded_lengths, std::int64_t capacity_tokens
) {
  // Of samples with Σ len <= C, Σ len² <= longest * Σ len.
  const auto longest = std::max_element(padded_lengths.begin(), padded_lengths.end());
  if (longest != padded_lengths.end()) {
    (void)base::checked_multiply(
        *longest, std::max(*longest, capacity_tokens), "squared lengths of a cell"
    );
  }
}

CellSums sum_cells(
    const CellLayout& layout, const IndexVector<SampleId, std::int64_t>& padded_lengths
) {
  const auto num_cells = static_cast<std::size_t>(layout.num_cells());
  CellSums sums{
      IndexVector<CellId, std::int64_t>{num_cells, 0},
      IndexVector<CellId, std::int64_t>{num_cells, 0}};
  for (const SampleId sample : ids<SampleId>(padded_lengths.size())) {
    const CellId cell = layout.cell_of_sample[sample];
    const std::int64_t length = padded_lengths[sample];
    sums.tokens[cell] = base::checked_add(sums.tokens[cell], length, "tokens of a cell");
    sums.squared_tokens[cell] = base::checked_add(
        sums.squared_tokens[cell], base::checked_multiply(length, length, "squared length"),
        "squared lengths of a cell"
    );
  }
  return sums;
}

std::vector<std::int64_t> sum_block_loads(
    const WindowSlice& slice,
    const CellLayout& layout,
    const Placement& placement,
    const Topology& topology
) {
  const int num_layers = slice.shape.num_moe_layers();
  const auto ep = static_cast<std::size_t>(topology.ep);
  const auto experts = static_cast<std::size_t>(slice.shape.num_experts);
  const std::size_t block_size = static_cast<std::size_t>(num_layers) * ep;
  std::vector<std::int64_t> loads(
      static_cast<std::size_t>(layout.num_rows * topology.edp()) * block_size, 0
  );
  std::vector<std::size_t> rank_of(experts);
  for (const MoeLayer layer : ids<MoeLayer>(num_layers)) {
    for (const ExpertId expert : ids<ExpertId>(experts)) {
      rank_of[expert.offset()] = placement.ep_rank_of(layer, expert).offset();
    }
    for (std::int64_t local = 0; local < slice.num_local(); ++local) {
      const SampleId sample{static_cast<std::size_t>(slice.first_sample + local)};
      const int block = layout.cell_of_sample[sample].value() / topology.dp_per_shard();
      std::int64_t* load =
          loads.data() + static_cast<std::size_t>(block) * block_size + layer.offset() * ep;
      const std::uint32_t* demand =
          slice.demand.data() +
          (static_cast<std::size_t>(local * num_layers) + layer.offset()) * experts;
      for (std::size_t expert = 0; expert < experts; ++expert) {
        load[rank_of[expert]] += demand[expert];
      }
    }
  }
  return loads;
}

PolicyMetrics compute_metrics(
    const CellSums& cells,
    std::vector<std::int64_t> block_loads,
    int num_moe_layers,
    const Topology& topology,
    const CostModel& cost,
    const domain::CellRules& rules
) {
  add_fill_in_place(block_loads, cells, num_moe_layers, topology, rules);
  const auto capacity = static_cast<double>(cost.capacity_tokens);
  const auto layers = static_cast<std::size_t>(num_moe_layers);
  const auto ep = static_cast<std::size_t>(topology.ep);
  const int edp = topology.edp();
  PolicyMetrics metrics;
  metrics.rows = static_cast<int>(cells.tokens.size()) / topology.dp;
  std::vector<double> shard_costs(static_cast<std::size_t>(edp), 0.0);
  std::int64_t all_peaks = 0;
  std::int64_t all_pairs = 0;
  std::int64_t tail_peak = 0;
  for (int row = 0; row < metrics.rows; ++row) {
    for (int shard = 0; shard < edp; ++shard) {
      const BlockId block{row * edp + shard};
      std::int64_t peaks = 0;
      for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::span<const std::int64_t> ranks =
            std::span{block_loads}.subspan((block.offset() * layers + layer) * ep, ep);
        const std::int64_t peak = *std::max_element(ranks.begin(), ranks.end());
        peaks += peak;
        tail_peak = std::max(tail_peak, peak);
        for (const std::int64_t pairs : ranks) {
          all_pairs += pairs;
        }
      }
      all_peaks += peaks;
      const double attention = attention_of_block(cells, block, topology, cost, rules);
      const double experts = cost.expert_weight * static_cast<double>(peaks) / capacity;
      metrics.attention += attention;
      metrics.ep_peak_sum += experts;
      shard_costs[static_cast<std::size_t>(shard)] += attention + experts;
      metrics.score.max_row = std::max(metrics.score.max_row, attention + experts);
    }
  }
  for (const double shard_cost : shard_costs) {
    metrics.score.max_shard = std::max(metrics.score.max_shard, shard_cost);
    metrics.score.sum_shards += shard_cost;
  }
  metrics.tail_peak = static_cast<double>(tail_peak) / capacity;
  metrics.ep_balance_efficiency = all_peaks > 0 ? static_cast<double>(all_pairs) /
                                                      static_cast<double>(topology.ep) /
                                                      static_cast<double>(all_peaks)
                                                : 1.0;
  metrics.cv_global = mean_variation(block_loads, layers, ep);
  return metrics;
}

}  // namespace routepack::objective
