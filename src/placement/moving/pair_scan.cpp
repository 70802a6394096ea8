#include "placement/moving/pair_scan.hpp"

#include <algorithm>
#include <utility>

namespace routepack::placement {
PairScan::PairScan(const BlockState& state, const MovePrice& price, const BlockKernels& kernels)
    : state_(state),
      price_(price),
      kernels_(kernels),
      mask_a_(state.demand().stride()),
      mask_b_(state.demand().stride()) {
  // Compressed: three loads, two masks, and the experts of both ranks.
  const std::size_t slots = state.experts(EpRank{0}).size();
  arena_.resize((5 + 2 * slots) * state.demand().stride());
  for (Side* side : {&side_a_, &side_b_}) {
    side->hot_rows.resize(slots);
    side->rows.resize(slots);
    side->keys.resize(slots);
    side->moves.resize(slots);
  }
}

void PairScan::open(EpRank a, EpRank b, const std::uint32_t* level) {
  all_ = {level, state_.loads(a), state_.loads(b), state_.demand().steps(), state_.safe_steps()};
  sum_ = kernels_.sum(all_);
  kernels_.mark(all_, {mask_a_.data(), mask_b_.data()});
  find_hot_blocks();
  sort_side(a, b, true, side_a_);
  sort_side(b, a, false, side_b_);
}

void PairScan::find_hot_blocks() {
  hot_ = all_;
  hot_masks_ = {mask_a_.data(), mask_b_.data()};
  hot_is_all_ = true;
  cold_sum_ = 0;
  constexpr std::size_t kWorthCompressing = 4;  // steps; below, gathering costs more than it saves
  if (all_.steps < kWorthCompressing) {
    return;
  }
  hot_blocks_.clear();
  for (std::size_t step = 0; step < all_.steps; ++step) {
    const std::size_t first = step * kBlockLanes;
    std::uint32_t any = 0;
    for (std::size_t block = first; block < first + kBlockLanes; ++block) {
      any |= mask_a_[block] | mask_b_[block];
    }
    for (std::size_t block = first; any != 0 && block < first + kBlockLanes; ++block) {
      if ((mask_a_[block] | mask_b_[block]) != 0) {
        hot_blocks_.push_back(static_cast<std::uint32_t>(block));
      }
    }
  }
  const std::size_t hot_steps = (hot_blocks_.size() + kBlockLanes - 1) / kBlockLanes;
  if (2 * hot_steps > all_.steps) {
    return;
  }
  hot_is_all_ = false;
  arena_used_ = 0;
  hot_.steps = hot_steps;
  hot_.level = compress(all_.level);
  hot_.load_a = compress(all_.load_a);
  hot_.load_b = compress(all_.load_b);
  std::uint32_t* const hot_a = arena_.data() + arena_used_;
  compress(mask_a_.data());
  std::uint32_t* const hot_b = arena_.data() + arena_used_;
  compress(mask_b_.data());
  hot_masks_ = {hot_a, hot_b};
  cold_sum_ = sum_ - kernels_.sum(hot_);
}

const std::uint32_t* PairScan::compress(const std::uint32_t* values) {
  std::uint32_t* const into = arena_.data() + arena_used_;
  arena_used_ += hot_.steps * kBlockLanes;
  std::uint32_t* next = into;
  for (const std::uint32_t block : hot_blocks_) {
    *next++ = values[block];
  }
  std::fill(next, into + hot_.steps * kBlockLanes, 0U);
  return into;
}

void PairScan::sort_side(EpRank from, EpRank to, bool leaving, Side& side) {
  struct Entry {
    std::int64_t key;
    ExpertId expert;
    std::int32_t moves;
    const std::uint32_t* hot_row;
  };
  std::vector<Entry> entries;
  entries.reserve(side.keys.size());
  for (const ExpertId expert : state_.experts(from)) {
    const std::uint32_t* const row = state_.demand().of(expert);
    const std::uint32_t* const hot_row = hot_is_all_ ? row : compress(row);
    const std::int32_t moves = price_.moves(expert, from, to);
    const std::int64_t charge = price_.price * moves;
    const std::int64_t marked =
        kernels_.sum_marked(hot_row, hot_masks_, hot_.steps, hot_.safe_steps);
    entries.push_back({leaving ? marked - charge : marked + charge, expert, moves, hot_row});
  }
  std::sort(entries.begin(), entries.end(), [leaving](const Entry& x, const Entry& y) {
    if (x.key != y.key) {
      return leaving ? x.key > y.key : x.key < y.key;
    }
    return x.expert < y.expert;
  });
  side.experts.clear();
  for (std::size_t place = 0; place < entries.size(); ++place) {
    const Entry& entry = entries[place];
    side.experts.push_back(entry.expert);
    side.keys[place] = entry.key;
    side.moves[place] = entry.moves;
    side.hot_rows[place] = entry.hot_row;
    side.rows[place] = state_.demand().of(entry.expert);
  }
}

std::optional<PricedSwap> PairScan::find_swap(std::size_t leaver, std::int64_t gain) const {
  const std::int32_t moves = side_a_.moves[leaver];
  const std::int64_t charge = price_.price * moves;
  PartnerQuery query;
  query.hot = hot_;
  query.all = all_;
  query.hot_is_all = hot_is_all_;
  query.cold_sum = cold_sum_;
  query.out_hot = side_a_.hot_rows[leaver];
  query.out_all = side_a_.rows[leaver];
  query.in_hot = side_b_.hot_rows.data();
  query.in_all = side_b_.rows.data();
  query.bound = side_b_.keys.data();
  query.moves = side_b_.moves.data();
  query.num_candidates = side_b_.experts.size();
  query.bound_offset = sum_ - (side_a_.keys[leaver] + charge);
  query.price = price_.price;
  query.cost_below = sum_ - charge - gain;
  const Partner partner = kernels_.find_partner(query);
  if (partner.candidate == query.num_candidates) {
    return std::nullopt;
  }
  const std::int32_t partner_moves = side_b_.moves[partner.candidate];
  return PricedSwap{
      side_a_.experts[leaver], side_b_.experts[partner.candidate],
      partner.cost - price_.price * partner_moves - sum_, moves + partner_moves};
}

std::optional<PricedSwap> PairScan::find_best_swap() const {
  std::optional<PricedSwap> best;
  std::int64_t gain = 0;
  for (std::size_t leaver = 0; leaver < leavers().size() && can_gain(leaver, gain); ++leaver) {
    if (const std::optional<PricedSwap> swap = find_swap(leaver, gain)) {
      gain = -(swap->sum_change + price_.price * swap->moves);
      best = swap;
    }
  }
  return best;
}

}  // namespace routepack::placement
