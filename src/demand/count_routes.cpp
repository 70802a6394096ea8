#include "demand/count_routes.hpp"

#include <algorithm>
#include <limits>

#include "base/check.hpp"
#include "demand/count_routes_exact.hpp"
#include "demand/route_kernel.hpp"
#include "demand/route_reader.hpp"

namespace routepack {
namespace {

// Counts samples of one dtype. Counters of 16 bits stay in the first-level cache for any model
// (L * E of them); a token adds at most one to each, so they are emptied every 65535 tokens.
template <class T>
class SampleCounter {
 public:
  using Counter = std::uint16_t;

  // For samples in front of `end_sample`.
  SampleCounter(const RouteView& routes, std::int64_t end_sample)
      : routes_(routes),
        reader_(routes, routes.row_offsets[static_cast<std::size_t>(end_sample)], kBufferBytes),
        checker_(routes.top_k, routes.num_experts),
        tile_rows_(std::max<std::int64_t>(1, kTileBytes / routes.bytes_per_token())),
        counters_(
            static_cast<std::size_t>(routes.num_moe_layers()) *
            static_cast<std::size_t>(routes.num_experts)
        ) {}

  // Adds a sample to its demand [L, E]; returns how many of its tokens have a route.
  std::int64_t add_sample(std::int64_t sample, std::span<std::uint32_t> demand) {
    const std::int64_t first_token = routes_.row_offsets[static_cast<std::size_t>(sample)];
    const std::int64_t num_rows = num_rows_without_fillers(routes_, sample);
    std::int64_t routed = 0;
    std::int64_t pending = 0;  // tokens in the counters
    for (std::int64_t begin = 0; begin < num_rows; begin += tile_rows_) {
      const RowRange rows{begin, std::min(begin + tile_rows_, num_rows)};
      const std::int64_t size = rows.end - rows.begin;
      const std::span<const T> tile = reader_.ids<T>(first_token + begin, size);
      if (!tile_is_valid(tile)) {
        routed += add_rows_exact(routes_, sample, rows, reader_, demand);
        continue;
      }
      if (pending + size > std::numeric_limits<Counter>::max()) {
        empty_counters_into(demand);
        pending = 0;
      }
      count_tile(tile);
      pending += size;
      routed += size;
    }
    empty_counters_into(demand);
    return routed;
  }

 private:
  static constexpr std::int64_t kTileBytes = 16 << 10;  // checked, then counted from the cache
  static_assert(kTileBytes <= std::numeric_limits<Counter>::max());
  static constexpr std::int64_t kBufferBytes = 1 << 20;  // read at once

  [[nodiscard]] bool tile_is_valid(std::span<const T> tile) const {
    if (routes_.axis_size == routes_.num_moe_layers()) {
      return checker_.are_valid(tile);
    }
    const auto ids_per_token = static_cast<std::size_t>(routes_.ids_per_token());
    for (; !tile.empty(); tile = tile.subspan(ids_per_token)) {
      for (const LayerRun& run : routes_.runs) {
        const std::int64_t begin = std::int64_t{run.first_axis} * routes_.top_k;
        const std::int64_t size = std::int64_t{run.count} * routes_.top_k;
        if (!checker_.are_valid(
                tile.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(size))
            )) {
          return false;
        }
      }
    }
    return true;
  }

  void count_tile(std::span<const T> tile) {
    switch (routes_.top_k) {
      case 1:
        return count_tile_of<1>(tile);
      case 2:
        return count_tile_of<2>(tile);
      case 4:
        return count_tile_of<4>(tile);
      case 6:
        return count_tile_of<6>(tile);
      case 8:
        return count_tile_of<8>(tile);
      default:
        return count_tile_of<0>(tile);
    }
  }

  template <int kTopK>
  void count_tile_of(std::span<const T> tile) {
    const std::int64_t ids_per_token = routes_.ids_per_token();
    const T* const end = tile.data() + tile.size();
    for (const T* ids = tile.data(); ids != end; ids += ids_per_token) {
      for (const LayerRun& run : routes_.runs) {
        count_lines<kTopK>(
            ids + std::int64_t{run.first_axis} * routes_.top_k, run.count, routes_.top_k,
            routes_.num_experts,
            counters_.data() + std::int64_t{run.first_layer} * routes_.num_experts
        );
      }
    }
  }

  void empty_counters_into(std::span<std::uint32_t> demand) {
    for (std::size_t at = 0; at < counters_.size(); ++at) {
      demand[at] += counters_[at];
    }
    std::ranges::fill(counters_, Counter{0});
  }

  const RouteView& routes_;
  RouteReader reader_;
  LineChecker<T> checker_;
  std::int64_t tile_rows_;
  std::vector<Counter> counters_;  // [L, E]
};

}  // namespace

CountedDemand count_routes(const RouteView& routes, SampleRange range) {
  // The vector check compares every pair of a line; above this the exact path is no slower.
  constexpr int kMaxFastTopK = 64;
  if (routes.top_k > kMaxFastTopK) {
    return count_routes_exact(routes, range);
  }
  const auto row_size = static_cast<std::size_t>(routes.num_moe_layers()) *
                        static_cast<std::size_t>(routes.num_experts);
  CountedDemand counted;
  counted.demand.resize(static_cast<std::size_t>(range.size()) * row_size);
  with_type_of(routes.ids->dtype(), [&](auto type) {
    SampleCounter<decltype(type)> counter(routes, range.end);
    for (std::int64_t sample = range.begin; sample < range.end; ++sample) {
      const auto first = static_cast<std::size_t>(sample - range.begin) * row_size;
      const std::int64_t routed =
          counter.add_sample(sample, std::span(counted.demand).subspan(first, row_size));
      counted.routed_pairs += routes.top_k * routed;
    }
  });
  return counted;
}

}  // namespace routepack
