#include "objective/search_state.hpp"

#include <algorithm>
#include <numeric>

#include "base/check.hpp"

namespace routepack::objective {
namespace {

// Σ over layers of the largest EP rank's load after a change: `difference` [ep][padded_layers]
// pairs with a sign, and `shift` [ep] pairs at every layer.
std::int64_t peaks_with(
    const domain::ProjectedDemandView& demand,
    const std::uint32_t* loads,
    const std::vector<std::int32_t>& difference,
    std::int64_t sign,
    const std::vector<std::int64_t>& shift
) {
  std::vector<std::int64_t> peaks(static_cast<std::size_t>(demand.num_layers), 0);
  for (std::size_t rank = 0; rank < shift.size(); ++rank) {
    const std::size_t base = rank * static_cast<std::size_t>(demand.padded_layers);
    for (std::size_t layer = 0; layer < peaks.size(); ++layer) {
      const std::int64_t load =
          std::int64_t{loads[base + layer]} + sign * difference[base + layer] + shift[rank];
      peaks[layer] = std::max(peaks[layer], load);
    }
  }
  return std::accumulate(peaks.begin(), peaks.end(), std::int64_t{0});
}

}  // namespace

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
  fill_ = IndexVector<CellId, std::int64_t>{num_cells, 0};
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
    refill(cell);
  }
  peaks_ = IndexVector<BlockId, std::int64_t>{num_blocks, 0};
  shard_costs_ = ShardCosts(problem_->num_shards);
  for (const BlockId block : ids<BlockId>(num_blocks)) {
    attention_.settle(block);
    peaks_[block] = sum_of_peaks(block);
    shard_costs_.add(problem_->shard_of(block), block_cost(block));
  }
  score_ = {shard_costs_.largest(), shard_costs_.sum()};
}

std::int64_t SearchState::sum_of_peaks(BlockId block) const {
  const domain::ProjectedDemandView& demand = problem_->demand;
  const std::uint32_t* block_loads = loads_.data() + block.offset() * stride_;
  std::int64_t sum = 0;
  for (int layer = 0; layer < demand.num_layers; ++layer) {
    std::uint32_t peak = 0;
    for (int rank = 0; rank < demand.ep; ++rank) {
      peak = std::max(peak, block_loads[rank * demand.padded_layers + layer]);
    }
    sum += peak;
  }
  return sum;
}

SearchState::Change SearchState::change_of(const Move& move) const {
  Change change;
  for (int n = 0; n < move.num_from_b; ++n) {
    change.tokens_into_a += problem_->lengths[move.from_b[n]];
    change.routed_into_a += problem_->routed_pairs[move.from_b[n]];
  }
  for (int n = 0; n < move.num_from_a; ++n) {
    change.tokens_into_a -= problem_->lengths[move.from_a[n]];
    change.routed_into_a -= problem_->routed_pairs[move.from_a[n]];
  }
  change.samples_into_a = move.num_from_b - move.num_from_a;
  const domain::CellRules& rules = problem_->rules;
  if (rules.pad_multiple > 1) {
    change.fill_a = rules.fill_of(tokens_[move.cell_a] + change.tokens_into_a) - fill_[move.cell_a];
    change.fill_b = rules.fill_of(tokens_[move.cell_b] - change.tokens_into_a) - fill_[move.cell_b];
  }
  return change;
}

bool SearchState::keeps_rules(const Move& move, const Change& change) const {
  const domain::CellRules& rules = problem_->rules;
  const auto held = [&](CellId cell) { return static_cast<std::int64_t>(cells_[cell].size()); };
  if (!rules.may_hold(
          tokens_[move.cell_a] + change.tokens_into_a, held(move.cell_a) + change.samples_into_a
      ) ||
      !rules.may_hold(
          tokens_[move.cell_b] - change.tokens_into_a, held(move.cell_b) - change.samples_into_a
      )) {
    return false;
  }
  return !rules.equal_slots || change.samples_into_a == 0 ||
         problem_->slot_of_cell[move.cell_a] == problem_->slot_of_cell[move.cell_b];
}

BlockAttention::Totals SearchState::attention_after(const Move& move, const Change& change) const {
  const auto gain_of_a = [&](int stage) {
    const auto at = static_cast<std::size_t>(stage);
    std::int64_t gain = 0;
    for (int n = 0; n < move.num_from_b; ++n) {
      gain += problem_->attention_of(move.from_b[n])[at];
    }
    for (int n = 0; n < move.num_from_a; ++n) {
      gain -= problem_->attention_of(move.from_a[n])[at];
    }
    return gain;
  };
  if (problem_->rules.pad_multiple == 1) {
    return attention_.after_exchange(move.cell_a, move.cell_b, [&](int stage) {
      const std::int64_t gain = gain_of_a(stage);
      return BlockAttention::Gains{gain, -gain};
    });
  }
  return attention_.after_exchange(move.cell_a, move.cell_b, [&](int stage) {
    const std::int64_t gain = gain_of_a(stage);
    const std::int64_t of_fill = problem_->fill_attention[static_cast<std::size_t>(stage)];
    return BlockAttention::Gains{gain + change.fill_a * of_fill, change.fill_b * of_fill - gain};
  });
}

Outcome SearchState::evaluate(const Move& move, std::int64_t energy_limit) {
  Outcome outcome;
  const BlockId a = problem_->block_of(move.cell_a);
  const BlockId b = problem_->block_of(move.cell_b);
  const Change change = change_of(move);
  outcome.rejected = !keeps_rules(move, change);
  if (outcome.rejected) {
    return outcome;
  }
  const BlockAttention::Totals attention = attention_after(move, change);
  const std::int64_t pairs_per_fill = problem_->rules.pairs_per_fill;
  outcome.attention_a = attention.a;
  outcome.attention_b = attention.b;
  outcome.same_block = a == b;
  const EdpShard shard_a = problem_->shard_of(a);
  const EdpShard shard_b = problem_->shard_of(b);
  if (outcome.same_block) {
    outcome.peaks_a = pairs_per_fill == 0 ? peaks_[a] : peaks_with_fill_after(move, a, b, change).a;
    const std::int64_t cost = shard_costs_.of(shard_a) - block_cost(a) + outcome.attention_a +
                              problem_->pair_cost * outcome.peaks_a;
    outcome.score = score_with(shard_a, cost, shard_a, cost);
    outcome.energy = energy_of(outcome.score);
    outcome.rejected = outcome.energy > energy_limit;
    return outcome;
  }
  // No packing of the block's routes on its EP ranks has a lower peak than their mean.
  const std::int64_t ep = problem_->demand.ep;
  const std::int64_t routed_a = routed_[a] + change.routed_into_a + change.fill_a * pairs_per_fill;
  const std::int64_t routed_b = routed_[b] - change.routed_into_a + change.fill_b * pairs_per_fill;
  const std::int64_t least_peaks = (routed_a + ep - 1) / ep + (routed_b + ep - 1) / ep;
  const std::int64_t limit =
      peaks_limit(a, b, outcome.attention_a + outcome.attention_b, energy_limit);
  if (problem_->demand.num_layers * least_peaks > limit) {
    outcome.rejected = true;
    return outcome;
  }
  const PeakSums peaks = pairs_per_fill == 0 ? peaks_after(move, a, b, least_peaks, limit)
                                             : peaks_with_fill_after(move, a, b, change);
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

// Net pairs that block a gains and block b loses, into difference_.
void SearchState::make_difference(const Move& move) {
  const domain::ProjectedDemandView& demand = problem_->demand;
  std::fill(difference_.begin(), difference_.end(), 0);
  const auto add = [&](SampleId sample, std::int32_t sign) {
    if (demand.wide.empty()) {
      add_to_difference(demand.narrow, sample, sign);
    } else {
      add_to_difference(demand.wide, sample, sign);
    }
  };
  for (int n = 0; n < move.num_from_a; ++n) {
    add(move.from_a[n], -1);
  }
  for (int n = 0; n < move.num_from_b; ++n) {
    add(move.from_b[n], 1);
  }
}

PeakSums SearchState::peaks_with_fill_after(
    const Move& move, BlockId a, BlockId b, const Change& change
) {
  const domain::CellRules& rules = problem_->rules;
  const domain::ProjectedDemandView& demand = problem_->demand;
  const auto ep = static_cast<std::size_t>(demand.ep);
  const auto gains_of = [&](CellId cell, std::int64_t gained, std::vector<std::int64_t>& shift) {
    for (int rank = 0; rank < demand.ep; ++rank) {
      shift[static_cast<std::size_t>(rank)] +=
          rules.fill_pairs(fill_[cell] + gained, rank, demand.ep) -
          rules.fill_pairs(fill_[cell], rank, demand.ep);
    }
  };
  std::vector<std::int64_t> shift_a(ep, 0);
  gains_of(move.cell_a, change.fill_a, shift_a);
  if (a == b) {
    gains_of(move.cell_b, change.fill_b, shift_a);
    std::fill(difference_.begin(), difference_.end(), 0);
    return {peaks_with(demand, loads(a), difference_, 1, shift_a), 0, false};
  }
  std::vector<std::int64_t> shift_b(ep, 0);
  gains_of(move.cell_b, change.fill_b, shift_b);
  make_difference(move);
  return {
      peaks_with(demand, loads(a), difference_, 1, shift_a),
      peaks_with(demand, loads(b), difference_, -1, shift_b), false};
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
  make_difference(move);
  return kernels_->exchange_difference(
      {exchange.loads_a, exchange.loads_b, nullptr, difference_.data(), exchange.ep,
       exchange.num_layers, exchange.padded_layers, exchange.least_peaks, exchange.limit}
  );
}

PeakSums SearchState::peaks_after(
    const Move& move, BlockId a, BlockId b, std::int64_t least_peaks, std::int64_t limit
) {
  const domain::ProjectedDemandView& demand = problem_->demand;
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
  const domain::ProjectedDemandView& demand = problem_->demand;
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

void SearchState::refill(CellId cell) {
  const domain::CellRules& rules = problem_->rules;
  const std::int64_t fill = rules.fill_of(tokens_[cell]);
  if (fill == fill_[cell]) {
    return;
  }
  attention_.add_fill(cell, fill - fill_[cell]);
  const BlockId block = problem_->block_of(cell);
  const domain::ProjectedDemandView& demand = problem_->demand;
  routed_[block] += (fill - fill_[cell]) * rules.pairs_per_fill;
  for (int rank = 0; rules.pairs_per_fill > 0 && rank < demand.ep; ++rank) {
    const std::int64_t gained =
        rules.fill_pairs(fill, rank, demand.ep) - rules.fill_pairs(fill_[cell], rank, demand.ep);
    std::uint32_t* layers = loads(block) + rank * demand.padded_layers;
    for (int layer = 0; layer < demand.num_layers; ++layer) {
      layers[layer] += static_cast<std::uint32_t>(gained);  // wraps for a loss, exactly
    }
  }
  fill_[cell] = fill;
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
  refill(move.cell_a);
  refill(move.cell_b);
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

}  // namespace routepack::objective
