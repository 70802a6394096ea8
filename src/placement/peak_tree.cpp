#include "placement/peak_tree.hpp"

#include <algorithm>
#include <bit>

namespace routepack {

PeakTree::PeakTree(const BlockState& state, const RowKernels& kernels)
    : kernels_(kernels),
      demand_(state.demand()),
      stride_(demand_.stride()),
      safe_steps_(state.safe_steps()),
      num_leaves_(std::max<std::size_t>(std::bit_ceil(static_cast<std::size_t>(state.ep())), 2)),
      nodes_(2 * num_leaves_ * stride_, 0) {
  for (const EpRank rank : ids<EpRank>(state.ep())) {
    std::copy_n(state.loads(rank), stride_, node(leaf(rank)));
  }
  for (std::size_t parent = num_leaves_ - 1; parent >= 1; --parent) {
    kernels_.take_larger(node(parent), node(2 * parent), node(2 * parent + 1), demand_.steps());
  }
}

EpRank PeakTree::peak_rank(std::size_t block) const {
  const std::uint32_t peak = nodes_[stride_ + block];
  std::size_t number = 1;
  while (number < num_leaves_) {
    number *= 2;
    number += nodes_[number * stride_ + block] == peak ? 0U : 1U;
  }
  return EpRank{number - num_leaves_};
}

std::int64_t PeakTree::sum_peaks() const {
  std::int64_t sum = 0;
  for (std::size_t block = 0; block < stride_; ++block) {
    sum += nodes_[stride_ + block];
  }
  return sum;
}

std::int64_t PeakTree::sum_after(EpRank a, EpRank b, ExpertId out, ExpertId in) {
  // Below the node where the paths of a and b meet, their siblings cover the other ranks there;
  // above it, those of the common path do.
  others_.clear();
  std::size_t from_a = leaf(a);
  std::size_t from_b = leaf(b);
  while (from_a / 2 != from_b / 2) {
    others_.push_back(node(from_a ^ 1U));
    others_.push_back(node(from_b ^ 1U));
    from_a /= 2;
    from_b /= 2;
  }
  for (std::size_t common = from_a / 2; common > 1; common /= 2) {
    others_.push_back(node(common ^ 1U));
  }
  ExchangeQuery query;
  query.load_a = node(leaf(a));
  query.load_b = node(leaf(b));
  query.out = demand_.of(out);
  query.in = demand_.of(in);
  query.others = others_.data();
  query.num_others = others_.size();
  query.steps = demand_.steps();
  query.safe_steps = safe_steps_;
  return kernels_.sum_exchanged(query);
}

void PeakTree::exchange(EpRank a, EpRank b, ExpertId out, ExpertId in) {
  replace(a, out, in);
  replace(b, in, out);
  climb(a);
  climb(b);
}

void PeakTree::replace(EpRank rank, ExpertId out, ExpertId in) {
  std::uint32_t* const load = node(leaf(rank));
  const std::uint32_t* const leaves = demand_.of(out);
  const std::uint32_t* const arrives = demand_.of(in);
  for (std::size_t block = 0; block < stride_; ++block) {
    load[block] += arrives[block] - leaves[block];  // modulo 2^32; the result is whole again
  }
}

void PeakTree::climb(EpRank rank) {
  for (std::size_t parent = leaf(rank) / 2; parent >= 1; parent /= 2) {
    kernels_.take_larger(node(parent), node(2 * parent), node(2 * parent + 1), demand_.steps());
  }
}

}  // namespace routepack
