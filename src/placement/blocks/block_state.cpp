#include "placement/blocks/block_state.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.hpp"

namespace routepack::placement {
namespace {

// The heaviest block, after checking that each fits 32 bits.
std::uint64_t largest_block(const BlockDemand& demand) {
  std::vector<std::uint64_t> totals(demand.stride(), 0);
  for (const ExpertId expert : ids<ExpertId>(demand.num_experts())) {
    for (std::size_t block = 0; block < demand.stride(); ++block) {
      totals[block] += demand.of(expert)[block];
    }
  }
  const auto largest = std::max_element(totals.begin(), totals.end());
  RP_CHECK(
      *largest <= std::numeric_limits<std::uint32_t>::max(), ErrorCode::kNumberOutOfRange,
      "block {} routes {} pairs at one layer, at most {} fit", largest - totals.begin(), *largest,
      std::numeric_limits<std::uint32_t>::max()
  );
  return *largest;
}

}  // namespace

BlockDemand view_blocks(
    std::span<const std::uint32_t> pairs, int num_blocks, std::size_t num_experts
) {
  const BlockDemand demand{pairs, num_blocks};
  RP_ASSERT(
      light, num_blocks > 0 && pairs.size() == num_experts * demand.stride(),
      "{} entries for {} experts of {} blocks", pairs.size(), num_experts, num_blocks
  );
  return demand;
}

BlockState::BlockState(const BlockDemand& demand, RankOfExpert rank_of, int ep)
    : demand_(demand),
      ep_(ep),
      slots_(rank_of.size() / static_cast<std::size_t>(ep)),
      rank_of_(std::move(rank_of)),
      expert_(rank_of_.size()),
      load_(static_cast<std::size_t>(ep) * demand.stride(), 0) {
  const std::uint64_t largest = std::max<std::uint64_t>(largest_block(demand), 1);
  safe_steps_ = static_cast<std::size_t>(std::numeric_limits<std::uint32_t>::max() / largest);
  std::vector<std::size_t> held(static_cast<std::size_t>(ep), 0);
  for (const ExpertId expert : ids<ExpertId>(rank_of_.size())) {
    const std::size_t rank = rank_of_[expert].offset();
    RP_ASSERT(light, held[rank] < slots_, "EP rank {} holds more than {} experts", rank, slots_);
    expert_[rank * slots_ + held[rank]++] = expert;
    std::uint32_t* const load = load_.data() + rank * demand.stride();
    for (std::size_t block = 0; block < demand.stride(); ++block) {
      load[block] += demand.of(expert)[block];
    }
  }
}

std::int64_t BlockState::sum_peaks() const {
  std::int64_t sum = 0;
  std::vector<std::uint32_t> peaks(demand_.stride(), 0);
  for (const EpRank rank : ids<EpRank>(ep_)) {
    for (std::size_t block = 0; block < peaks.size(); ++block) {
      peaks[block] = std::max(peaks[block], loads(rank)[block]);
    }
  }
  for (const std::uint32_t peak : peaks) {
    sum += peak;
  }
  return sum;
}

void BlockState::swap(ExpertId a, ExpertId b) {
  const EpRank rank_a = rank_of_[a];
  const EpRank rank_b = rank_of_[b];
  replace(rank_a, a, b);
  replace(rank_b, b, a);
  rank_of_[a] = rank_b;
  rank_of_[b] = rank_a;
}

void BlockState::replace(EpRank rank, ExpertId out, ExpertId in) {
  const auto first = expert_.begin() + static_cast<std::ptrdiff_t>(rank.offset() * slots_);
  const auto last = first + static_cast<std::ptrdiff_t>(slots_);
  const auto from = std::lower_bound(first, last, out);
  const auto to = std::lower_bound(first, last, in);
  if (from < to) {  // close the hole at `from`, open one before `to`
    std::move(from + 1, to, from);
    *(to - 1) = in;
  } else {
    std::move_backward(to, from, from + 1);
    *to = in;
  }
  std::uint32_t* const load = load_.data() + rank.offset() * demand_.stride();
  const std::uint32_t* const leaves = demand_.of(out);
  const std::uint32_t* const arrives = demand_.of(in);
  for (std::size_t block = 0; block < demand_.stride(); ++block) {
    load[block] += arrives[block] - leaves[block];  // modulo 2^32; the result is whole again
  }
}

}  // namespace routepack::placement
