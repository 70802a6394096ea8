// What every EDP shard costs, with the costliest at hand: the maximum over all shards but two is
// what a move asks for.
#pragma once

#include <array>
#include <cstdint>

#include "routepack/ids.hpp"

namespace routepack {

class ShardCosts {
 public:
  explicit ShardCosts(int num_shards);

  [[nodiscard]] std::int64_t of(EdpShard shard) const { return cost_[shard]; }
  [[nodiscard]] std::int64_t sum() const { return sum_; }
  [[nodiscard]] std::int64_t largest() const { return cost_[leaders_.front()]; }
  // 0 where there is no other.
  [[nodiscard]] std::int64_t largest_except(EdpShard a, EdpShard b) const {
    for (int place = 0; place < num_leaders_; ++place) {
      const EdpShard shard = leaders_[static_cast<std::size_t>(place)];
      if (shard != a && shard != b) {
        return cost_[shard];
      }
    }
    return 0;
  }

  // O(shards).
  void add(EdpShard shard, std::int64_t change);

 private:
  IndexVector<EdpShard, std::int64_t> cost_;
  std::int64_t sum_ = 0;
  int num_leaders_;
  std::array<EdpShard, 3> leaders_;  // the costliest first
};

}  // namespace routepack
