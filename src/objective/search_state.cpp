#include "objective/search_state.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"

namespace routepack {

SearchState::SearchState(const SearchProblem& problem, const CellLayout& layout, SimdLevel simd)
    : problem_(&problem),
      kernels_(&peak_kernels(simd)),
      stride_(problem.demand.sample_stride()),
      attention_(problem),
      shard_costs_(problem.num_shards),
      difference_(stride_, 0),
      nothing_narrow_(stride_, 0),
      nothing_wide_(stride_, 0) {
  reset(layout);
}

void SearchState::reset(const CellLayout& layout) {
  layout_ = layout;
  const auto num_cells = static_cast<std::size_t>(problem_->num_cells());
  const auto num_blocks = static_cast<std::size_t>(problem_->num_blocks());
  cells_ = samples_by_cell(layout);
  tokens_ = IndexVector<CellId, std::int64_t>{num_cells, 0};
  attention_ = BlockAttention(*problem_);
  routed_ = IndexVector<BlockId, std::int64_t>{num_blocks, 0};
  loads_.assign(num_blocks * stride_, 0);
  for (const CellId cell : ids<CellId>(num_cells)) {
    const BlockId block = problem_->block_of(cell);
    for (const SampleId sample : cells_[cell]) {
      tokens_[cell] += problem_->lengths[sample];
      routed_[block] += problem_->routed_pairs[sample];
      attention_.add(cell, sample, 1);
      std::uint32_t* block_loads = loads(block);
      const std::size_t base = sample.offset() * stride_;
      for (std::size_t at = 0; at < stride_; ++at) {
        block_loads[at] += problem_->demand.wide.empty() ? problem_->demand.narrow[base + at]
                                                         : problem_->demand.wide[base + at];
      }
    }
  }
  peaks_ = IndexVector<BlockId, std::int64_t>{num_blocks, 0};
  shard_costs_ = ShardCosts(problem_->num_shards);
  for (const BlockId block : ids<BlockId>(num_blocks)) {
    attention_.settle(block);
    const std::uint32_t* block_loads = loads(block);
    for (int layer = 0; layer < problem_->demand.num_layers; ++layer) {
      std::uint32_t peak = 0;
      for (int rank = 0; rank < problem_->demand.ep; ++rank) {
        peak = std::max(peak, block_loads[rank * problem_->demand.padded_layers + layer]);
      }
      peaks_[block] += peak;
    }
    shard_costs_.add(problem_->shard_of(block), block_cost(block));
  }
  score_ = {shard_costs_.largest(), shard_costs_.sum()};
}

BlockAttention::Totals SearchState::attention_after(const Move& move) const {
  return attention_.after_exchange(move.cell_a, move.cell_b, [&](int stage) {
    const auto at = static_cast<std::size_t>(stage);
    std::int64_t gain = 0;
    for (int n = 0; n < move.num_from_b; ++n) {
      gain += problem_->attention_of(move.from_b[n])[at];
    }
    for (int n = 0; n < move.num_from_a; ++n) {
      gain -= problem_->attention_of(move.from_a[n])[at];
    }
    return gain;
  });
}

Outcome SearchState::evaluate(const Move& move, std::int64_t energy_limit) {
  Outcome outcome;
  const BlockId a = problem_->block_of(move.cell_a);
  const BlockId b = problem_->block_of(move.cell_b);
  std::int64_t tokens_into_a = 0;
  std::int64_t routed_into_a = 0;
  for (int n = 0; n < move.num_from_b; ++n) {
    tokens_into_a += problem_->lengths[move.from_b[n]];
    routed_into_a += problem_->routed_pairs[move.from_b[n]];
  }
  for (int n = 0; n < move.num_from_a; ++n) {
    tokens_into_a -= problem_->lengths[move.from_a[n]];
    routed_into_a -= problem_->routed_pairs[move.from_a[n]];
  }
  const int into_a = move.num_from_b - move.num_from_a;
  outcome.rejected = tokens_[move.cell_a] + tokens_into_a > problem_->capacity_tokens ||
                     tokens_[move.cell_b] - tokens_into_a > problem_->capacity_tokens ||
                     static_cast<int>(cells_[move.cell_a].size()) + into_a < 1 ||
                     static_cast<int>(cells_[move.cell_b].size()) - into_a < 1;
  if (outcome.rejected) {
    return outcome;
  }
  const BlockAttention::Totals attention = attention_after(move);
  outcome.attention_a = attention.a;
  outcome.attention_b = attention.b;
  outcome.same_block = a == b;
  const EdpShard shard_a = problem_->shard_of(a);
  const EdpShard shard_b = problem_->shard_of(b);
  if (outcome.same_block) {
    outcome.peaks_a = peaks_[a];
    const std::int64_t cost = shard_costs_.of(shard_a) - attention_.of(a) + outcome.attention_a;
    outcome.score = score_with(shard_a, cost, shard_a, cost);
    outcome.energy = energy_of(outcome.score);
    outcome.rejected = outcome.energy > energy_limit;
    return outcome;
  }
  // No packing of the block's routes on its EP ranks has a lower peak than their mean.
  const std::int64_t ep = problem_->demand.ep;
  const std::int64_t least_peaks =
      (routed_[a] + routed_into_a + ep - 1) / ep + (routed_[b] - routed_into_a + ep - 1) / ep;
  const std::int64_t limit =
      peaks_limit(a, b, outcome.attention_a + outcome.attention_b, energy_limit);
  if (problem_->demand.num_layers * least_peaks > limit) {
    outcome.rejected = true;
    return outcome;
  }
  const PeakSums peaks = peaks_after(move, a, b, least_peaks, limit);
  if (peaks.exceeded) {
    outcome.rejected = true;
    return outcome;
  }
  outcome.peaks_a = peaks.a;
  outcome.peaks_b = peaks.b;
  const std::int64_t change_a = outcome.attention_a + problem_->pair_cost * peaks.a - block_cost(a);
  const std::int64_t change_b = outcome.attention_b + problem_->pair_cost * peaks.b - block_cost(b);
  if (shard_a == shard_b) {
    const std::int64_t cost = shard_costs_.of(shard_a) + change_a + change_b;
    outcome.score = score_with(shard_a, cost, shard_a, cost);
  } else {
    outcome.score = score_with(
        shard_a, shard_costs_.of(shard_a) + change_a, shard_b, shard_costs_.of(shard_b) + change_b
    );
  }
  outcome.energy = energy_of(outcome.score);
  outcome.rejected = outcome.energy > energy_limit;
  return outcome;
}

SearchScore SearchState::score_with(
    EdpShard shard_a, std::int64_t cost_a, EdpShard shard_b, std::int64_t cost_b
) const {
  std::int64_t sum = shard_costs_.sum() + cost_a - shard_costs_.of(shard_a);
  if (shard_a != shard_b) {
    sum += cost_b - shard_costs_.of(shard_b);
  }
  return {std::max({shard_costs_.largest_except(shard_a, shard_b), cost_a, cost_b}), sum};
}

// The largest Σ peaks of blocks a and b with which the energy may still be within its limit.
// Necessary, not sufficient: of two different shards only the mean is known to be below the
// maximum.
std::int64_t SearchState::peaks_limit(
    BlockId a, BlockId b, std::int64_t attention, std::int64_t energy_limit
) const {
  if (problem_->pair_cost == 0) {
    return INT64_MAX;
  }
  const EdpShard shard_a = problem_->shard_of(a);
  const EdpShard shard_b = problem_->shard_of(b);
  const std::int64_t own_sum =
      shard_costs_.of(shard_a) + (shard_a == shard_b ? 0 : shard_costs_.of(shard_b));
  const std::int64_t others_maximum = shard_costs_.largest_except(shard_a, shard_b);
  const std::int64_t others_sum = shard_costs_.sum() - own_sum;
  const std::int64_t edp = problem_->num_shards;
  const std::int64_t own_share = shard_a == shard_b ? 2 * edp + 1 : edp + 1;
  const std::int64_t most = std::min(
      energy_limit - others_sum - 2 * edp * others_maximum, (energy_limit - others_sum) / own_share
  );
  const std::int64_t kept = own_sum - block_cost(a) - block_cost(b);
  const std::int64_t room = most - kept - attention;
  return room < 0 ? -1 : room / problem_->pair_cost;
}

template <class T>
void SearchState::add_to_difference(std::span<const T> demand, SampleId sample, std::int32_t sign) {
  const T* pairs = demand.data() + sample.offset() * stride_;
  for (std::size_t at = 0; at < stride_; ++at) {
    difference_[at] += sign * static_cast<std::int32_t>(pairs[at]);
  }
}

template <class T>
PeakSums SearchState::exchange(
    std::span<const T> demand,
    const Move& move,
    Exchange<T> exchange,
    const T* nothing,
    PeakSums (*kernel)(const Exchange<T>&)
) {
  if (move.num_from_a <= 1 && move.num_from_b <= 1) {
    exchange.leaves =
        move.num_from_a == 1 ? demand.data() + move.from_a[0].offset() * stride_ : nothing;
    exchange.enters =
        move.num_from_b == 1 ? demand.data() + move.from_b[0].offset() * stride_ : nothing;
    return kernel(exchange);
  }
  std::fill(difference_.begin(), difference_.end(), 0);
  for (int n = 0; n < move.num_from_a; ++n) {
    add_to_difference(demand, move.from_a[n], -1);
  }
  for (int n = 0; n < move.num_from_b; ++n) {
    add_to_difference(demand, move.from_b[n], 1);
  }
  return kernels_->exchange_difference(
      {exchange.loads_a, exchange.loads_b, nullptr, difference_.data(), exchange.ep,
       exchange.num_layers, exchange.padded_layers, exchange.least_peaks, exchange.limit}
  );
}

PeakSums SearchState::peaks_after(
    const Move& move, BlockId a, BlockId b, std::int64_t least_peaks, std::int64_t limit
) {
  const ProjectedDemandView& demand = problem_->demand;
  if (demand.wide.empty()) {
    return exchange(
        demand.narrow, move,
        {loads(a), loads(b), nullptr, nullptr, demand.ep, demand.num_layers, demand.padded_layers,
         least_peaks, limit},
        nothing_narrow_.data(), kernels_->exchange_narrow
    );
  }
  return exchange(
      demand.wide, move,
      {loads(a), loads(b), nullptr, nullptr, demand.ep, demand.num_layers, demand.padded_layers,
       least_peaks, limit},
      nothing_wide_.data(), kernels_->exchange_wide
  );
}

void SearchState::move_loads(SampleId sample, BlockId from, BlockId to) {
  const ProjectedDemandView& demand = problem_->demand;
  const std::size_t base = sample.offset() * stride_;
  if (demand.wide.empty()) {
    kernels_->move_narrow(demand.narrow.data() + base, loads(from), loads(to), stride_);
  } else {
    kernels_->move_wide(demand.wide.data() + base, loads(from), loads(to), stride_);
  }
}

void SearchState::move_sample(SampleId sample, CellId from, CellId to) {
  // Kept ascending: the lists are then a function of the layout, and so is every later proposal.
  std::vector<SampleId>& source = cells_[from];
  source.erase(std::ranges::lower_bound(source, sample));
  std::vector<SampleId>& target = cells_[to];
  target.insert(std::ranges::lower_bound(target, sample), sample);
  layout_.cell_of_sample[sample] = to;
  tokens_[from] -= problem_->lengths[sample];
  tokens_[to] += problem_->lengths[sample];
  attention_.add(from, sample, -1);
  attention_.add(to, sample, 1);
  const BlockId from_block = problem_->block_of(from);
  const BlockId to_block = problem_->block_of(to);
  if (from_block != to_block) {
    move_loads(sample, from_block, to_block);
    routed_[from_block] -= problem_->routed_pairs[sample];
    routed_[to_block] += problem_->routed_pairs[sample];
  }
}

void SearchState::apply(const Move& move, const Outcome& outcome) {
  RP_ASSERT(normal, !outcome.rejected, "a rejected move is applied");
  const BlockId a = problem_->block_of(move.cell_a);
  const BlockId b = problem_->block_of(move.cell_b);
  const std::int64_t before_a = block_cost(a);
  const std::int64_t before_b = block_cost(b);
  for (int n = 0; n < move.num_from_a; ++n) {
    move_sample(move.from_a[n], move.cell_a, move.cell_b);
  }
  for (int n = 0; n < move.num_from_b; ++n) {
    move_sample(move.from_b[n], move.cell_b, move.cell_a);
  }
  attention_.settle(a);
  peaks_[a] = outcome.peaks_a;
  shard_costs_.add(problem_->shard_of(a), block_cost(a) - before_a);
  if (!outcome.same_block) {
    attention_.settle(b);
    peaks_[b] = outcome.peaks_b;
    shard_costs_.add(problem_->shard_of(b), block_cost(b) - before_b);
  }
  RP_ASSERT(
      normal,
      attention_.of(a) == outcome.attention_a && shard_costs_.largest() == outcome.score.max_shard,
      "a move led elsewhere than its outcome said"
  );
  score_ = outcome.score;
}

}  // namespace routepack
