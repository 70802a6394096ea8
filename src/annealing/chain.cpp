#include "annealing/chain.hpp"

#include <cstdlib>

namespace routepack {

Chain::Chain(
    ChainId id,
    std::uint64_t seed,
    const SearchProblem& problem,
    const CellLayout& start,
    SimdLevel simd
)
    : id_(id), seed_(seed), state_(problem, start, simd) {}

StageResult Chain::run_stage(
    const Stage& stage, const MoveProposer& proposer, const Acceptance& acceptance
) {
  const Stream random{seed_, Purpose::kMoves, static_cast<std::uint32_t>(id_.value())};
  StageResult result;
  SearchScore best = stage.archived;
  bool best_is_current = false;  // the layout is copied only when the chain leaves it
  const auto keep_best = [&] {
    if (best_is_current) {
      result.improvement = Improvement{best, state_.layout()};
      best_is_current = false;
    }
  };
  for (std::int64_t move_number = 0; move_number < stage.num_moves; ++move_number) {
    const RandomBits block = random.at(stage.number, static_cast<std::uint64_t>(move_number));
    const std::optional<Move> move = proposer.propose(block, state_);
    if (!move) {
      continue;
    }
    const std::int64_t limit =
        acceptance.energy_limit(state_.energy(), stage.temperature, block.word(3));
    const Outcome outcome = state_.evaluate(*move, limit);
    if (outcome.rejected) {
      continue;
    }
    const bool improves = outcome.score < best;
    if (!improves && outcome.score != state_.score()) {
      keep_best();
    }
    state_.apply(*move, outcome);
    ++result.num_accepted;
    if (improves) {
      best = outcome.score;
      best_is_current = true;
    }
  }
  keep_best();
  return result;
}

std::int64_t Chain::mean_change(std::int64_t num_moves, const MoveProposer& proposer) {
  const Stream random{seed_, Purpose::kPerturbation, static_cast<std::uint32_t>(id_.value())};
  __int128 total = 0;
  std::int64_t feasible = 0;
  for (std::int64_t number = 0; number < num_moves; ++number) {
    const std::optional<Move> move =
        proposer.propose(random.at(0, static_cast<std::uint64_t>(number)), state_);
    if (!move) {
      continue;
    }
    const Outcome outcome = state_.evaluate(*move, INT64_MAX);
    if (!outcome.rejected) {
      total += std::abs(outcome.energy - state_.energy());
      ++feasible;
    }
  }
  return feasible == 0 ? 0 : static_cast<std::int64_t>(total / feasible);
}

}  // namespace routepack
