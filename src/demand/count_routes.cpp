// Counts token routes at memory speed: a tile of tokens, in private memory, is checked with vector
// instructions, then counted without any further check. A tile with anything unusual (a missing
// route, a fault) goes to the exact path, which names what is wrong.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "base/check.hpp"
#include "demand/count.hpp"
#include "demand/exact_routes.hpp"

namespace routepack::demand {
namespace {

// The two inner loops: "are these lines all distinct experts?" and "count them". A line is the
// top_k ids of one token at one MoE layer.

// Compares every id with those after it in its line, many lines at a time: for each distance
// d < top_k the flat ids are compared with themselves shifted by d, and a periodic mask drops the
// pairs that belong to two lines. Plain loops that the compiler turns into vector instructions.
template <class T>
class LineChecker {
 public:
  LineChecker(int top_k, int num_experts)
      : top_k_(static_cast<std::size_t>(top_k)),
        block_(top_k_ * kBlockLines),
        num_experts_(static_cast<std::uint64_t>(num_experts)),
        masks_(block_ * (top_k_ - 1)) {
    for (std::size_t distance = 1; distance < top_k_; ++distance) {
      for (std::size_t at = 0; at < block_; ++at) {
        const bool same_line = at % top_k_ + distance < top_k_;
        masks_[(distance - 1) * block_ + at] = same_line ? Word{1} : Word{0};
      }
    }
  }

  // Whether every id is one of 0 … E-1 and no line repeats one. `ids` holds whole lines.
  [[nodiscard]] bool are_valid(std::span<const T> ids) const {
    for (std::size_t begin = 0; begin < ids.size(); begin += block_) {
      if (!block_is_valid(ids.subspan(begin, std::min(block_, ids.size() - begin)))) {
        return false;
      }
    }
    return true;
  }

 private:
  using Word = std::make_unsigned_t<T>;
  // A block is whole vector registers, of up to 64 bytes, for any top_k.
  static constexpr std::size_t kBlockLines = 128 / sizeof(T);

  [[nodiscard]] bool block_is_valid(std::span<const T> ids) const {
    const T* id = ids.data();
    Word largest = 0;
    for (std::size_t at = 0; at < ids.size(); ++at) {  // a negative id becomes a large one
      largest = std::max(largest, static_cast<Word>(id[at]));
    }
    Word repeated = 0;
    for (std::size_t distance = 1; distance < top_k_; ++distance) {
      const Word* mask = masks_.data() + (distance - 1) * block_;
      const T* other = id + distance;
      const std::size_t count = ids.size() - distance;
      for (std::size_t at = 0; at < count; ++at) {
        repeated |= static_cast<Word>(id[at] == other[at]) & mask[at];
      }
    }
    return largest < num_experts_ && repeated == 0;
  }

  std::size_t top_k_;
  std::size_t block_;
  std::uint64_t num_experts_;
  std::vector<Word> masks_;  // [top_k - 1][block_]
};

// Adds `num_lines` consecutive lines, one a layer, to their layers' counters [num_lines, E].
// Ids must be valid. A constant top_k (0: not constant) unrolls the loop over a line. Successive
// increments go to distinct counters, so none waits for the one before.
template <int kTopK, class T, class Counter>
inline void count_lines(
    const T* ids, int num_lines, int top_k, int num_experts, Counter* __restrict counters
) {
  const int line_size = kTopK > 0 ? kTopK : top_k;
  for (int line = 0; line < num_lines; ++line) {
    for (int slot = 0; slot < line_size; ++slot) {
      ++counters[static_cast<std::size_t>(ids[slot])];
    }
    ids += line_size;
    counters += num_experts;
  }
}

// Counts samples of one dtype. Counters of 16 bits stay in the first-level cache for any model
// (L * E of them); a token adds at most one to each, so they are emptied every 65535 tokens.
template <class T>
class SampleCounter {
 public:
  using Counter = std::uint16_t;

  // For samples in front of `end_sample`.
  SampleCounter(const io::RouteView& routes, std::int64_t end_sample)
      : routes_(routes),
        reader_(routes, routes.route_offsets[static_cast<std::size_t>(end_sample)], kBufferBytes),
        checker_(routes.top_k, routes.num_experts),
        tile_tokens_(std::max<std::int64_t>(1, kTileBytes / routes.bytes_per_token())),
        counters_(
            static_cast<std::size_t>(routes.num_moe_layers()) *
            static_cast<std::size_t>(routes.num_experts)
        ) {}

  // Adds a sample to its demand [L, E]; returns how many of its tokens have a route.
  std::int64_t add_sample(std::int64_t sample, std::span<std::uint32_t> demand) {
    const std::int64_t first_token = routes_.route_offsets[static_cast<std::size_t>(sample)];
    const std::int64_t num_tokens = num_tokens_without_fillers(routes_, sample);
    std::int64_t routed = 0;
    std::int64_t pending = 0;  // tokens in the counters
    for (std::int64_t begin = 0; begin < num_tokens; begin += tile_tokens_) {
      const TokenRange tokens{begin, std::min(begin + tile_tokens_, num_tokens)};
      const std::int64_t size = tokens.end - tokens.begin;
      const std::span<const T> tile = reader_.ids<T>(first_token + begin, size);
      if (!tile_is_valid(tile)) {
        routed += add_tokens_exact(routes_, sample, tokens, reader_, demand);
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
      for (const io::LayerRun& run : routes_.runs) {
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
      for (const io::LayerRun& run : routes_.runs) {
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

  const io::RouteView& routes_;
  RouteReader reader_;
  LineChecker<T> checker_;
  std::int64_t tile_tokens_;
  std::vector<Counter> counters_;  // [L, E]
};

}  // namespace

CountedDemand count_routes(const io::RouteView& routes, SampleRange range) {
  // The vector check compares every pair of a line; above this the exact path is no slower.
  constexpr int kMaxFastTopK = 64;
  if (routes.top_k > kMaxFastTopK) {
    return count_routes_exact(routes, range);
  }
  const auto sample_size = static_cast<std::size_t>(routes.num_moe_layers()) *
                           static_cast<std::size_t>(routes.num_experts);
  CountedDemand counted;
  counted.demand.resize(static_cast<std::size_t>(range.size()) * sample_size);
  io::with_type_of(routes.ids->dtype(), [&](auto type) {
    SampleCounter<decltype(type)> counter(routes, range.end);
    for (std::int64_t sample = range.begin; sample < range.end; ++sample) {
      const auto first = static_cast<std::size_t>(sample - range.begin) * sample_size;
      const std::int64_t routed =
          counter.add_sample(sample, std::span(counted.demand).subspan(first, sample_size));
      counted.routed_pairs += routes.top_k * routed;
    }
  });
  return counted;
}

}  // namespace routepack::demand
