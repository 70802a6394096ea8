// The best-filling subset of a few samples: a depth-first search with bounds and a node limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace routepack {

// Samples by their position in a longest-first order: lower positions are no shorter.
using Position = std::uint32_t;

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

}  // namespace routepack
