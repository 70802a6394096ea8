#include "objective/shard_costs.hpp"

#include <algorithm>

namespace routepack {

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

}  // namespace routepack
