// Proposals of the annealing chains: which samples of which cells change places.
#pragma once

#include <optional>

#include "objective/search_state.hpp"
#include "random/stream.hpp"

namespace routepack {

// Proposes moves from one 128-bit random block each. Partners are mostly neighbours in length
// order: in nearly full cells about nine of ten random swaps break the capacity.
class MoveProposer {
 public:
  explicit MoveProposer(const SearchProblem& problem);

  // Empty where the drawn samples share a cell. The move may still break the capacity.
  [[nodiscard]] std::optional<Move> propose(const RandomBits& random, const SearchState& state)
      const;

 private:
  [[nodiscard]] SampleId neighbour(SampleId sample, std::uint32_t random, int reach) const;
  // A cell at random that may take samples of `from` without others in return.
  [[nodiscard]] CellId any_cell(CellId from, const RandomBits& random) const;
  [[nodiscard]] std::optional<Move> swap(SampleId a, SampleId b, const SearchState& state) const;
  [[nodiscard]] std::optional<Move> swap_within_block(
      SampleId sample, const RandomBits& random, const SearchState& state
  ) const;
  [[nodiscard]] std::optional<Move> one_for_two(
      SampleId sample, const RandomBits& random, const SearchState& state
  ) const;
  [[nodiscard]] std::optional<Move> swap_cells(
      SampleId sample, const RandomBits& random, const SearchState& state
  ) const;

  const SearchProblem* problem_;
  std::vector<SampleId> by_length_;                  // ascending, ties by id
  IndexVector<SampleId, std::int32_t> length_rank_;  // inverse of by_length_
};

}  // namespace routepack
