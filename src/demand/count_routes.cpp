#include "demand/count_routes.hpp"

#include <algorithm>
#include <limits>

#include "base/check.hpp"
#include "demand/count_routes_exact.hpp"
#include "demand/route_kernel.hpp"

namespace routepack {
namespace {

// Counts samples of one dtype. Counters of 16 bits stay in the first-level cache for any model
// (L * E of them); a token adds at most one to each, so they are emptied every 65535 tokens.
template <class T>
class SampleCounter {
 public:
  using Counter = std::uint16_t;

  explicit SampleCounter(const RouteView& routes)
      : routes_(routes),
        ids_(routes.ids.as<T>()),
        checker_(routes.top_k, routes.num_experts),
        tile_rows_(std::max<std::int64_t>(
            1, kTileBytes / (routes.ids_per_token() * static_cast<std::int64_t>(sizeof(T)))
        )),
        counters_(
            static_cast<std::size_t>(routes.num_moe_layers()) *
            static_cast<std::size_t>(routes.num_experts)
        ) {}

  // Adds a sample to its demand [L, E]; returns how many of its tokens have a route.
  std::int64_t add_sample(std::int64_t sample, std::span<std::uint32_t> demand) {
    const std::int64_t num_rows = num_rows_without_filler(routes_, sample);
    std::int64_t routed = 0;
    std::int64_t pending = 0;  // tokens in the counters
    for (std::int64_t begin = 0; begin < num_rows; begin += tile_rows_) {
      const RowRange rows{begin, std::min(begin + tile_rows_, num_rows)};
      const std::int64_t size = rows.end - rows.begin;
      if (!tile_is_valid(sample, rows)) {
        routed += add_rows_exact(routes_, sample, rows, demand);
        continue;
      }
      if (pending + size > std::numeric_limits<Counter>::max()) {
        empty_counters_into(demand);
        pending = 0;
      }
      count_tile(sample, rows);
      pending += size;
      routed += size;
    }
    empty_counters_into(demand);
    return routed;
  }

 private:
  static constexpr std::int64_t kTileBytes = 16 << 10;  // checked, then counted from the cache
  static_assert(kTileBytes <= std::numeric_limits<Counter>::max());

  [[nodiscard]] const T* row_ids(std::int64_t sample, std::int64_t row) const {
    const std::int64_t token = routes_.row_offsets[static_cast<std::size_t>(sample)] + row;
    return ids_.data() + token * routes_.ids_per_token();
  }

  [[nodiscard]] bool tile_is_valid(std::int64_t sample, RowRange rows) const {
    const T* ids = row_ids(sample, rows.begin);
    const std::int64_t ids_per_token = routes_.ids_per_token();
    if (routes_.axis_size == routes_.num_moe_layers()) {
      return checker_.are_valid(
          {ids, static_cast<std::size_t>((rows.end - rows.begin) * ids_per_token)}
      );
    }
    for (std::int64_t row = rows.begin; row < rows.end; ++row, ids += ids_per_token) {
      for (const LayerRun& run : routes_.runs) {
        const T* lines = ids + std::int64_t{run.first_axis} * routes_.top_k;
        const std::int64_t size = std::int64_t{run.count} * routes_.top_k;
        if (!checker_.are_valid({lines, static_cast<std::size_t>(size)})) {
          return false;
        }
      }
    }
    return true;
  }

  void count_tile(std::int64_t sample, RowRange rows) {
    switch (routes_.top_k) {
      case 1:
        return count_tile_of<1>(sample, rows);
      case 2:
        return count_tile_of<2>(sample, rows);
      case 4:
        return count_tile_of<4>(sample, rows);
      case 6:
        return count_tile_of<6>(sample, rows);
      case 8:
        return count_tile_of<8>(sample, rows);
      default:
        return count_tile_of<0>(sample, rows);
    }
  }

  template <int kTopK>
  void count_tile_of(std::int64_t sample, RowRange rows) {
    const T* ids = row_ids(sample, rows.begin);
    const std::int64_t ids_per_token = routes_.ids_per_token();
    for (std::int64_t row = rows.begin; row < rows.end; ++row, ids += ids_per_token) {
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
  std::span<const T> ids_;
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
  with_type_of(routes.ids.dtype, [&](auto type) {
    SampleCounter<decltype(type)> counter(routes);
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
