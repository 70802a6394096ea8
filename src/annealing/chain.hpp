// One member of the population, a layout that wanders at a fixed temperature, stage by stage; and
// the proposals that it is offered: which samples of which cells change places.
#pragma once

#include <cstdint>
#include <optional>

#include "domain/tuning.hpp"
#include "objective/search_state.hpp"
#include "random/stream.hpp"

namespace routepack::annealing {

// Proposes moves from one 128-bit random block each. Partners are mostly neighbours in length
// order: in nearly full cells about nine of ten random swaps break the capacity.
class MoveProposer {
 public:
  MoveProposer(const objective::SearchProblem& problem, const domain::Tuning::Moves& tuning);

  // Empty where the drawn samples share a cell. The move may still break the capacity.
  [[nodiscard]] std::optional<objective::Move> propose(
      const random::RandomBits& random, const objective::SearchState& state
  ) const;

 private:
  [[nodiscard]] SampleId neighbour(SampleId sample, std::uint32_t random, int reach) const;
  // A cell at random that may take samples of `from` without others in return.
  [[nodiscard]] CellId any_cell(CellId from, const random::RandomBits& random) const;
  [[nodiscard]] std::optional<objective::Move> swap(
      SampleId a, SampleId b, const objective::SearchState& state
  ) const;
  [[nodiscard]] std::optional<objective::Move> swap_within_block(
      SampleId sample, const random::RandomBits& random, const objective::SearchState& state
  ) const;
  [[nodiscard]] std::optional<objective::Move> one_for_two(
      SampleId sample, const random::RandomBits& random, const objective::SearchState& state
  ) const;
  [[nodiscard]] std::optional<objective::Move> swap_cells(
      SampleId sample, const random::RandomBits& random, const objective::SearchState& state
  ) const;

  const objective::SearchProblem* problem_;
  domain::Tuning::Moves tuning_;
  std::vector<SampleId> by_length_;                  // ascending, ties by id
  IndexVector<SampleId, std::int32_t> length_rank_;  // inverse of by_length_
};

// What every chain does in a stage: the same for all, so a chain's path depends on its id alone.
struct Stage {
  std::uint32_t number = 0;         // counts on over all rounds: part of the random counter
  std::int64_t temperature = 0;     // units of energy
  std::int64_t num_moves = 0;       // proposals of each chain
  objective::SearchScore archived;  // only layouts better than this are worth keeping
};

// The best layout of a stage, where it beats the archive.
struct Improvement {
  objective::SearchScore score;
  CellLayout layout;
};

struct StageResult {
  std::int64_t num_accepted = 0;
  std::optional<Improvement> improvement;
};

class Chain {
 public:
  Chain(
      ChainId id,
      std::uint64_t seed,
      const objective::SearchProblem& problem,
      const CellLayout& start,
      SimdLevel simd
  );

  // A copy of the parent's state that goes on under its own id.
  Chain(ChainId id, const Chain& parent) : Chain(parent) { id_ = id; }

  [[nodiscard]] ChainId id() const { return id_; }
  [[nodiscard]] std::int64_t energy() const { return state_.energy(); }
  [[nodiscard]] const objective::SearchState& state() const { return state_; }

  StageResult run_stage(
      const Stage& stage, const MoveProposer& proposer, const random::Acceptance& acceptance
  );
  void restart_from(const CellLayout& layout) { state_.reset(layout); }

  // Mean |energy change| of the feasible ones among `num_moves` proposals, none applied: the scale
  // of temperatures. 0 where none is feasible.
  [[nodiscard]] std::int64_t mean_change(std::int64_t num_moves, const MoveProposer& proposer);

 private:
  ChainId id_;
  std::uint64_t seed_;
  objective::SearchState state_;
};

}  // namespace routepack::annealing
