// Cells that exchange samples with a pool, until the room wasted all over has gathered in the open
// cells and they can be closed; and how a cell chooses from a pool. The heart of search_with_pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "domain/tuning.hpp"
#include "random/stream.hpp"

namespace routepack::packing {

// Samples by their position in a longest-first order: lower positions are no shorter.
using Position = std::uint32_t;

// The best-filling subset of a few samples: a depth-first search with bounds and a node limit.
class SubsetFill {
 public:
  // `lengths[position]` descending; must outlive the search.
  explicit SubsetFill(const std::vector<std::int64_t>& lengths) : lengths_(lengths) {}

  struct Limits {
    std::int64_t capacity = 0;    // tokens
    std::int64_t at_least = 1;    // tokens; only subsets that hold so many count
    std::int64_t enough = 0;      // tokens; the first subset with so many ends the search
    std::size_t max_samples = 0;  // of the subset
    std::int64_t max_nodes = 0;
  };

  // Looks among `candidates` (ascending positions) for the subset of most tokens within the
  // capacity, longest first; of equal ones the first. True where any holds limits.at_least tokens.
  bool run(const std::vector<Position>& candidates, const Limits& limits);

  // Of the last successful run, both ascending.
  [[nodiscard]] std::int64_t tokens() const { return best_tokens_; }
  [[nodiscard]] std::vector<Position> chosen() const;
  [[nodiscard]] std::vector<Position> left_out() const;

  [[nodiscard]] std::int64_t num_nodes() const { return nodes_; }  // of the last run

 private:
  bool extend(std::size_t from, std::int64_t tokens);

  const std::vector<std::int64_t>& lengths_;
  Limits limits_;
  std::vector<Position> candidates_;
  std::vector<std::int64_t> tokens_from_;  // of candidate n and all after it
  std::vector<std::size_t> chosen_;        // indices into candidates_
  std::vector<std::size_t> best_;
  std::int64_t best_tokens_ = 0;
  std::int64_t nodes_ = 0;
};

struct FilledCell {
  std::vector<Position> long_sample;  // one beyond half the capacity, or none; it always stays
  std::vector<Position> samples;      // the others, ascending positions
  std::int64_t long_tokens = 0;
  std::int64_t tokens = 0;  // of all
};

// From any packing of all samples (`lengths` descending, one a position) to one of at most
// `num_cells` cells, or nothing when the steps (samples looked at) are spent. At most num_cells
// samples may be longer than half the capacity, and the tokens must fit num_cells full cells.
[[nodiscard]] std::optional<std::vector<FilledCell>> exchange_through_pool(
    const std::vector<std::int64_t>& lengths,
    std::int64_t capacity_tokens,
    std::vector<FilledCell> cells,
    std::size_t num_cells,
    std::int64_t max_steps,
    const random::Stream& stream,
    const domain::Tuning::Pool& tuning
);

}  // namespace routepack::packing
