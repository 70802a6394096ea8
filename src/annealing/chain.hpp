// One member of the population: a layout that wanders at a fixed temperature, stage by stage.
#pragma once

#include <cstdint>
#include <optional>

#include "annealing/moves.hpp"
#include "objective/search_state.hpp"
#include "random/acceptance.hpp"

namespace routepack {

// What every chain does in a stage: the same for all, so a chain's path depends on its id alone.
struct Stage {
  std::uint32_t number = 0;      // counts on over all rounds: part of the random counter
  std::int64_t temperature = 0;  // units of energy
  std::int64_t num_moves = 0;    // proposals of each chain
  SearchScore archived;          // only layouts better than this are worth keeping
};

// The best layout of a stage, where it beats the archive.
struct Improvement {
  SearchScore score;
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
      const SearchProblem& problem,
      const CellLayout& start,
      SimdLevel simd
  );

  // A copy of the parent's state that goes on under its own id.
  Chain(ChainId id, const Chain& parent) : Chain(parent) { id_ = id; }

  [[nodiscard]] ChainId id() const { return id_; }
  [[nodiscard]] std::int64_t energy() const { return state_.energy(); }
  [[nodiscard]] const SearchState& state() const { return state_; }

  StageResult run_stage(
      const Stage& stage, const MoveProposer& proposer, const Acceptance& acceptance
  );
  void restart_from(const CellLayout& layout) { state_.reset(layout); }

  // Mean |energy change| of the feasible ones among `num_moves` proposals, none applied: the scale
  // of temperatures. 0 where none is feasible.
  [[nodiscard]] std::int64_t mean_change(std::int64_t num_moves, const MoveProposer& proposer);

 private:
  ChainId id_;
  std::uint64_t seed_;
  SearchState state_;
};

}  // namespace routepack
