#include "objective/search_state.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"

namespace routepack {

SearchState::SearchState(const SearchProblem& problem, const CellLayout& layout, SimdLevel simd)
    : problem_(&problem),
      kernels_(&peak_kernels(simd)),
      stride_(problem.demand.sample_stride()),
      difference_(stride_, 0),
      nothing_narrow_(stride_, 0),
      nothing_wide_(stride_, 0) {
  reset(layout);
}

void SearchState::reset(const CellLayout& layout) {
  layout_ = layout;
  const auto num_cells = static_cast<std::size_t>(problem_->num_cells());
  const auto num_blocks = static_cast<std::size_t>(problem_->num_blocks());
  const auto num_stages = static_cast<std::size_t>(problem_->num_stages);
  cells_ = samples_by_cell(layout);
  tokens_ = IndexVector<CellId, std::int64_t>{num_cells, 0};
  cell_attention_.assign(num_stages * num_cells, 0);
  routed_ = IndexVector<BlockId, std::int64_t>{num_blocks, 0};
  loads_.assign(num_blocks * stride_, 0);
  for (const CellId cell : ids<CellId>(num_cells)) {
    const BlockId block = problem_->block_of(cell);
    for (const SampleId sample : cells_[cell]) {
      tokens_[cell] += problem_->lengths[sample];
      routed_[block] += problem_->routed_pairs[sample];
      for (std::size_t stage = 0; stage < num_stages; ++stage) {
        cell_attention_[stage * num_cells + cell.offset()] += problem_->attention_of(sample)[stage];
      }
      std::uint32_t* block_loads = loads(block);
      const std::size_t base = sample.offset() * stride_;
      for (std::size_t at = 0; at < stride_; ++at) {
        block_loads[at] += problem_->demand.wide.empty() ? problem_->demand.narrow[base + at]
                                                         : problem_->demand.wide[base + at];
      }
    }
  }
  attention_ = IndexVector<BlockId, std::int64_t>{num_blocks, 0};
  peaks_ = IndexVector<BlockId, std::int64_t>{num_blocks, 0};
  shard_cost_ =
      IndexVector<EdpShard, std::int64_t>{static_cast<std::size_t>(problem_->topology.edp()), 0};
  for (const BlockId block : ids<BlockId>(num_blocks)) {
    for (int stage = 0; stage < problem_->num_stages; ++stage) {
      attention_[block] += stage_maximum(stage, block, {});
    }
    const std::uint32_t* block_loads = loads(block);
    for (int layer = 0; layer < problem_->demand.num_layers; ++layer) {
      std::uint32_t peak = 0;
      for (int rank = 0; rank < problem_->demand.ep; ++rank) {
        peak = std::max(peak, block_loads[rank * problem_->demand.padded_layers + layer]);
      }
      peaks_[block] += peak;
    }
    shard_cost_[problem_->shard_of(block)] += block_cost(block);
  }
  score_ = score_with(EdpShard{}, shard_cost_[EdpShard{}], EdpShard{}, shard_cost_[EdpShard{}]);
}

// Largest attention of a stage over the block's cells, with `changed` in place of theirs.
std::int64_t SearchState::stage_maximum(
    int stage, BlockId block, std::span<const ChangedCell> changed
) const {
  const auto per_block = static_cast<std::size_t>(problem_->topology.dp_per_shard());
  const std::size_t first = block.offset() * per_block;
  const std::int64_t* attention =
      cell_attention_.data() + static_cast<std::size_t>(stage) * tokens_.size() + first;
  std::int64_t maximum = 0;
  std::array<std::size_t, 2> skipped = {per_block, per_block};
  for (std::size_t n = 0; n < changed.size(); ++n) {
    skipped[n] = changed[n].cell.offset() - first;
    maximum = std::max(maximum, changed[n].attention);
  }
  for (std::size_t position = 0; position < per_block; ++position) {
    const bool skip = position == skipped[0] || position == skipped[1];
    maximum = std::max(maximum, skip ? std::int64_t{0} : attention[position]);
  }
  return maximum;
}

void SearchState::evaluate_attention(const Move& move, BlockId a, BlockId b, Outcome& outcome)
    const {
  for (int stage = 0; stage < problem_->num_stages; ++stage) {
    std::int64_t gain_a = 0;
    const auto attention = [&](SampleId sample) {
      return problem_->attention_of(sample)[static_cast<std::size_t>(stage)];
    };
    for (int n = 0; n < move.num_from_b; ++n) {
      gain_a += attention(move.from_b[n]);
    }
    for (int n = 0; n < move.num_from_a; ++n) {
      gain_a -= attention(move.from_a[n]);
    }
    const std::int64_t* cells =
        cell_attention_.data() + static_cast<std::size_t>(stage) * tokens_.size();
    const std::array<ChangedCell, 2> changed = {
        {{move.cell_a, cells[move.cell_a.offset()] + gain_a},
         {move.cell_b, cells[move.cell_b.offset()] - gain_a}}};
    const std::span<const ChangedCell> both{changed};
    if (a == b) {
      outcome.attention_a += stage_maximum(stage, a, both);
    } else {
      outcome.attention_a += stage_maximum(stage, a, both.first(1));
      outcome.attention_b += stage_maximum(stage, b, both.last(1));
    }
  }
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
  evaluate_attention(move, a, b, outcome);
  outcome.same_block = a == b;
  const EdpShard shard_a = problem_->shard_of(a);
  const EdpShard shard_b = problem_->shard_of(b);
  if (outcome.same_block) {
    outcome.peaks_a = peaks_[a];
    const std::int64_t cost = shard_cost_[shard_a] - attention_[a] + outcome.attention_a;
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
    const std::int64_t cost = shard_cost_[shard_a] + change_a + change_b;
    outcome.score = score_with(shard_a, cost, shard_a, cost);
  } else {
    outcome.score = score_with(
        shard_a, shard_cost_[shard_a] + change_a, shard_b, shard_cost_[shard_b] + change_b
    );
  }
  outcome.energy = energy_of(outcome.score);
  outcome.rejected = outcome.energy > energy_limit;
  return outcome;
}

SearchScore SearchState::score_with(
    EdpShard shard_a, std::int64_t cost_a, EdpShard shard_b, std::int64_t cost_b
) const {
  SearchScore score;
  for (const EdpShard shard : ids<EdpShard>(shard_cost_.size())) {
    const std::int64_t cost =
        shard == shard_a ? cost_a : (shard == shard_b ? cost_b : shard_cost_[shard]);
    score.max_shard = std::max(score.max_shard, cost);
    score.sum_shards += cost;
  }
  return score;
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
  std::int64_t others_maximum = 0;
  std::int64_t others_sum = 0;
  for (const EdpShard shard : ids<EdpShard>(shard_cost_.size())) {
    if (shard != shard_a && shard != shard_b) {
      others_maximum = std::max(others_maximum, shard_cost_[shard]);
      others_sum += shard_cost_[shard];
    }
  }
  const std::int64_t edp = problem_->topology.edp();
  const std::int64_t own_share = shard_a == shard_b ? 2 * edp + 1 : edp + 1;
  const std::int64_t most = std::min(
      energy_limit - others_sum - 2 * edp * others_maximum, (energy_limit - others_sum) / own_share
  );
  const std::int64_t kept = shard_cost_[shard_a] - block_cost(a) - block_cost(b) +
                            (shard_a == shard_b ? 0 : shard_cost_[shard_b]);
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
  const std::size_t num_cells = tokens_.size();
  for (std::size_t stage = 0; stage < static_cast<std::size_t>(problem_->num_stages); ++stage) {
    const std::int64_t attention = problem_->attention_of(sample)[stage];
    cell_attention_[stage * num_cells + from.offset()] -= attention;
    cell_attention_[stage * num_cells + to.offset()] += attention;
  }
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
  attention_[a] = outcome.attention_a;
  peaks_[a] = outcome.peaks_a;
  shard_cost_[problem_->shard_of(a)] += block_cost(a) - before_a;
  if (!outcome.same_block) {
    attention_[b] = outcome.attention_b;
    peaks_[b] = outcome.peaks_b;
    shard_cost_[problem_->shard_of(b)] += block_cost(b) - before_b;
  }
  score_ = outcome.score;
}

}  // namespace routepack
