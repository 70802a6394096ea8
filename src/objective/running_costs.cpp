#include "objective/running_costs.hpp"

#include <algorithm>

namespace routepack::objective {
BlockAttention::BlockAttention(const SearchProblem& problem)
    : problem_(&problem),
      num_cells_(static_cast<std::size_t>(problem.num_cells())),
      attention_(static_cast<std::size_t>(problem.num_stages) * num_cells_, 0),
      leaders_(static_cast<std::size_t>(problem.num_stages * problem.num_blocks())),
      total_{static_cast<std::size_t>(problem.num_blocks()), 0} {}

void BlockAttention::add(CellId cell, SampleId sample, std::int64_t sign) {
  std::size_t at = cell.offset();
  for (const std::int64_t attention : problem_->attention_of(sample)) {
    attention_[at] += sign * attention;
    at += num_cells_;
  }
}

void BlockAttention::add_fill(CellId cell, std::int64_t tokens) {
  std::size_t at = cell.offset();
  for (const std::int64_t attention : problem_->fill_attention) {
    attention_[at] += tokens * attention;
    at += num_cells_;
  }
}

void BlockAttention::settle(BlockId block) {
  const auto per_block = static_cast<std::size_t>(problem_->cells_per_block);
  const std::size_t begin = block.offset() * per_block;
  total_[block] = 0;
  for (int stage = 0; stage < problem_->num_stages; ++stage) {
    const std::int64_t* cells = of_stage(stage);
    Leaders found{cells[begin], CellId{begin}, 0};
    for (std::size_t cell = begin + 1; cell < begin + per_block; ++cell) {
      if (cells[cell] > found.first) {
        found = {cells[cell], CellId{cell}, found.first};
      } else {
        found.second = std::max(found.second, cells[cell]);
      }
    }
    leaders_[static_cast<std::size_t>(stage) * total_.size() + block.offset()] = found;
    total_[block] += found.first;
  }
}

std::int64_t BlockAttention::largest_except(int stage, BlockId block, CellId one, CellId other)
    const {
  const Leaders& known = leaders(stage, block);
  if (one != known.cell && other != known.cell) {
    return known.first;
  }
  const auto per_block = static_cast<std::size_t>(problem_->cells_per_block);
  const std::size_t begin = block.offset() * per_block;
  const std::int64_t* cells = of_stage(stage);
  std::int64_t largest = 0;
  for (std::size_t cell = begin; cell < begin + per_block; ++cell) {
    const bool skip = cell == one.offset() || cell == other.offset();
    largest = std::max(largest, skip ? std::int64_t{0} : cells[cell]);
  }
  return largest;
}

ShardCosts::ShardCosts(int num_shards)
    : cost_{static_cast<std::size_t>(num_shards), 0}, num_leaders_(std::min(num_shards, 3)) {
  for (int place = 0; place < num_leaders_; ++place) {
    leaders_[static_cast<std::size_t>(place)] = EdpShard{place};
  }
}

void ShardCosts::add(EdpShard shard, std::int64_t change) {
  cost_[shard] += change;
  sum_ += change;
  int found = 0;
  for (const EdpShard candidate : ids<EdpShard>(cost_.size())) {
    int place = found;
    while (place > 0 && cost_[leaders_[static_cast<std::size_t>(place - 1)]] < cost_[candidate]) {
      --place;
    }
    if (place == num_leaders_) {
      continue;
    }
    found = std::min(found + 1, num_leaders_);
    const auto at = leaders_.begin() + place;
    std::move_backward(at, leaders_.begin() + found - 1, leaders_.begin() + found);
    *at = candidate;
  }
}

}  // namespace routepack::objective
