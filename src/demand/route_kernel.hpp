// The two inner loops of route counting: "are these lines all distinct experts?" and "count them".
// A line is the top_k ids of one token at one MoE layer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

namespace routepack {

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

}  // namespace routepack
