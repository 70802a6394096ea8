#include "packing/subset_fill.hpp"

#include <algorithm>

namespace routepack {

bool SubsetFill::run(const std::vector<Position>& candidates, const Limits& limits) {
  limits_ = limits;
  candidates_ = candidates;
  tokens_from_.assign(candidates.size() + 1, 0);
  for (std::size_t n = candidates.size(); n-- > 0;) {
    tokens_from_[n] = tokens_from_[n + 1] + lengths_[candidates[n]];
  }
  chosen_.clear();
  best_.clear();
  best_tokens_ = limits.at_least - 1;
  nodes_ = 0;
  extend(0, 0);
  return best_tokens_ >= limits.at_least;
}

// True when the search is over: there is enough, or the nodes are spent.
bool SubsetFill::extend(std::size_t from, std::int64_t tokens) {
  if (tokens > best_tokens_) {
    best_tokens_ = tokens;
    best_ = chosen_;
    if (tokens >= limits_.enough) {
      return true;
    }
  }
  if (chosen_.size() == limits_.max_samples) {
    return false;
  }
  const auto begin = candidates_.begin();
  const auto more = static_cast<std::int64_t>(limits_.max_samples - chosen_.size());
  while (true) {
    const auto fitting = std::partition_point(
        begin + static_cast<std::ptrdiff_t>(from), candidates_.end(),
        [&](Position position) { return tokens + lengths_[position] > limits_.capacity; }
    );
    if (fitting == candidates_.end()) {
      return false;
    }
    const auto at = static_cast<std::size_t>(fitting - begin);
    const std::int64_t length = lengths_[*fitting];
    if (tokens + std::min(tokens_from_[at], more * length) <= best_tokens_) {
      return false;
    }
    if (++nodes_ > limits_.max_nodes) {
      return true;
    }
    chosen_.push_back(at);
    const bool over = extend(at + 1, tokens + length);
    chosen_.pop_back();
    if (over) {
      return true;
    }
    from = at + 1;
    while (from < candidates_.size() && lengths_[candidates_[from]] == length) {
      ++from;
    }
  }
}

std::vector<Position> SubsetFill::chosen() const {
  std::vector<Position> positions;
  for (const std::size_t n : best_) {
    positions.push_back(candidates_[n]);
  }
  return positions;
}

std::vector<Position> SubsetFill::left_out() const {
  std::vector<Position> positions;
  auto next = best_.begin();
  for (std::size_t n = 0; n < candidates_.size(); ++n) {
    if (next != best_.end() && *next == n) {
      ++next;
    } else {
      positions.push_back(candidates_[n]);
    }
  }
  return positions;
}

}  // namespace routepack
