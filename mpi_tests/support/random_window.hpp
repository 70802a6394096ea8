// Random windows of form `routes` with their demand, known by construction.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "random/stream.hpp"
#include "support/test_window.hpp"

namespace routepack::testing {

// Draws in sequence from a counter-based stream.
class Draws {
 public:
  explicit Draws(std::uint32_t key) : stream_(7, random::Purpose::kTests, key) {}
  std::int64_t below(std::int64_t bound) {
    return stream_.at(0, next_++).below(0, static_cast<std::uint32_t>(bound));
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }

 private:
  random::Stream stream_;
  std::uint64_t next_ = 0;
};

struct RandomWindow {
  TestWindow window;
  std::vector<std::uint32_t> demand;  // [N, L, E]
  std::int64_t unrouted_tokens = 0;
};

struct RandomWindowShape {
  std::string dtype = "<i4";
  int num_experts = 8;
  int top_k = 2;
  std::vector<int> moe_layers = {0, 1};
  int num_layers = 2;
  bool all_layers_on_axis = false;
  int num_samples = 5;
  std::int64_t max_length = 50;
};

// Samples with T or T-1 rows, fillers, rows of -1 where the dtype has them, and junk in dense
// layers.
inline RandomWindow make_random_window(const RandomWindowShape& shape, Draws& draws) {
  RandomWindow made;
  TestWindow& window = made.window;
  window.dtype = shape.dtype;
  window.num_experts = shape.num_experts;
  window.top_k = shape.top_k;
  window.moe_layers = shape.moe_layers;
  window.num_layers = shape.num_layers;
  const auto num_moe = static_cast<int>(shape.moe_layers.size());
  window.axis = shape.all_layers_on_axis ? shape.num_layers : num_moe;
  const bool has_sentinel = shape.dtype[1] == 'i';
  const auto row_size = static_cast<std::size_t>(num_moe * shape.num_experts);
  for (int sample = 0; sample < shape.num_samples; ++sample) {
    const std::int64_t length = 1 + draws.below(shape.max_length);
    const std::int64_t rows = length - draws.below(2);
    // A tail of fillers, never the first row.
    const bool has_fillers = shape.top_k > 1 && rows == length && draws.one_in(2);
    const std::int64_t fillers =
        has_fillers ? std::min(rows - 1, draws.one_in(2) ? 1 : draws.below(length)) : 0;
    window.lengths.push_back(length);
    window.row_counts.push_back(rows);
    made.demand.resize(made.demand.size() + row_size, 0);
    std::uint32_t* demand = made.demand.data() + made.demand.size() - row_size;
    made.unrouted_tokens += length - rows;
    for (std::int64_t row = 0; row < rows; ++row) {
      const bool is_filler = row >= rows - fillers;
      const bool missing = !is_filler && has_sentinel && draws.one_in(20);
      made.unrouted_tokens += is_filler || missing ? 1 : 0;
      for (int axis = 0; axis < window.axis; ++axis) {
        const auto found = std::ranges::find(shape.moe_layers, axis);
        const bool is_moe = !shape.all_layers_on_axis || found != shape.moe_layers.end();
        const std::int64_t layer =
            shape.all_layers_on_axis ? found - shape.moe_layers.begin() : axis;
        const std::size_t line = window.ids.size();
        for (int slot = 0; slot < shape.top_k; ++slot) {
          std::int64_t id = draws.below(shape.num_experts);
          while (is_moe &&
                 std::find(
                     window.ids.begin() + static_cast<std::ptrdiff_t>(line), window.ids.end(), id
                 ) != window.ids.end()) {
            id = draws.below(shape.num_experts);
          }
          if (is_moe && (is_filler || missing)) {
            window.ids.push_back(is_filler ? 0 : -1);
            continue;
          }
          if (is_moe) {
            ++demand[layer * shape.num_experts + id];
          }
          window.ids.push_back(is_moe ? id : draws.below(100));
        }
      }
    }
  }
  return made;
}

}  // namespace routepack::testing
