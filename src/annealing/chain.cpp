#include "annealing/chain.hpp"

#include <algorithm>
#include <cstdlib>

namespace routepack::annealing {

MoveProposer::MoveProposer(
    const objective::SearchProblem& problem, const domain::Tuning::Moves& tuning
)
    : problem_(&problem), tuning_(tuning), length_rank_{problem.lengths.size(), 0} {
  for (const SampleId sample : ids<SampleId>(problem.num_samples())) {
    by_length_.push_back(sample);
  }
  std::stable_sort(by_length_.begin(), by_length_.end(), [&](SampleId x, SampleId y) {
    return problem.lengths[x] < problem.lengths[y];
  });
  for (std::size_t rank = 0; rank < by_length_.size(); ++rank) {
    length_rank_[by_length_[rank]] = static_cast<std::int32_t>(rank);
  }
}

std::optional<objective::Move> MoveProposer::propose(
    const random::RandomBits& random, const objective::SearchState& state
) const {
  const auto num_samples = static_cast<std::uint32_t>(problem_->num_samples());
  const SampleId sample{static_cast<std::int32_t>(random.below(1, num_samples))};
  std::uint32_t kind = random.word(0) & 0xffU;
  if (kind < tuning_.near_swap) {
    return swap(sample, neighbour(sample, random.word(2), tuning_.near_reach), state);
  }
  kind -= tuning_.near_swap;
  if (kind < tuning_.far_swap) {
    return swap(sample, neighbour(sample, random.word(2), tuning_.far_reach), state);
  }
  kind -= tuning_.far_swap;
  if (kind < tuning_.swap_within_block) {
    return swap_within_block(sample, random, state);
  }
  kind -= tuning_.swap_within_block;
  if (kind < tuning_.any_swap) {
    return swap(sample, SampleId{static_cast<std::int32_t>(random.below(2, num_samples))}, state);
  }
  kind -= tuning_.any_swap;
  const CellId from = state.layout().cell_of_sample[sample];
  if (kind < tuning_.relocate) {
    const CellId to = any_cell(from, random);
    if (from == to) {
      return std::nullopt;
    }
    return objective::Move{from, to, 1, 0, {sample}, {}};
  }
  kind -= tuning_.relocate;
  return kind < tuning_.one_for_two ? one_for_two(sample, random, state)
                                    : swap_cells(sample, random, state);
}

// Where DP slots hold equal numbers, only cells of one slot may change theirs.
CellId MoveProposer::any_cell(CellId from, const random::RandomBits& random) const {
  if (problem_->rules.equal_slots) {
    const auto row =
        static_cast<std::int32_t>(random.below(2, static_cast<std::uint32_t>(problem_->num_rows)));
    return CellId{row * problem_->topology.dp + problem_->slot_of_cell[from].value()};
  }
  return CellId{
      static_cast<std::int32_t>(random.below(2, static_cast<std::uint32_t>(problem_->num_cells()))
      )};
}

// A sample at most `reach` places away in length order, never the sample itself.
SampleId MoveProposer::neighbour(SampleId sample, std::uint32_t random, int reach) const {
  const auto num_samples = static_cast<std::int32_t>(by_length_.size());
  const auto drawn = static_cast<std::int32_t>(
      (std::uint64_t{random} * static_cast<std::uint64_t>(2 * reach)) >> 32U
  );
  const std::int32_t step = drawn < reach ? drawn - reach : drawn - reach + 1;
  const std::int32_t rank = length_rank_[sample];
  std::int32_t other = rank + step;
  if (other < 0 || other >= num_samples) {
    other = rank - step;  // reflect at the ends
  }
  other = std::clamp(other, 0, num_samples - 1);
  return by_length_[static_cast<std::size_t>(other)];
}

std::optional<objective::Move> MoveProposer::swap(
    SampleId a, SampleId b, const objective::SearchState& state
) const {
  const CellId cell_a = state.layout().cell_of_sample[a];
  const CellId cell_b = state.layout().cell_of_sample[b];
  if (cell_a == cell_b) {
    return std::nullopt;
  }
  return objective::Move{cell_a, cell_b, 1, 1, {a}, {b}};
}

// With a sample of another cell of the block: evens its attention and leaves its experts alone.
std::optional<objective::Move> MoveProposer::swap_within_block(
    SampleId sample, const random::RandomBits& random, const objective::SearchState& state
) const {
  const CellId from = state.layout().cell_of_sample[sample];
  const int cells = problem_->cells_per_block;
  const std::int32_t first = problem_->block_of(from).value() * cells;
  const CellId to{
      first + static_cast<std::int32_t>(random.below(2, static_cast<std::uint32_t>(cells)))};
  const std::span<const SampleId> there = state.samples_of(to);
  const std::uint32_t pick = (random.word(0) >> 8U) % static_cast<std::uint32_t>(there.size());
  return swap(sample, there[pick], state);
}

// One sample for two of another cell whose lengths add up to about its own.
std::optional<objective::Move> MoveProposer::one_for_two(
    SampleId sample, const random::RandomBits& random, const objective::SearchState& state
) const {
  const CellId from = state.layout().cell_of_sample[sample];
  const CellId to = any_cell(from, random);
  const std::span<const SampleId> there = state.samples_of(to);
  if (from == to || there.size() < 2) {
    return std::nullopt;
  }
  const std::uint32_t pick = (random.word(0) >> 8U) % static_cast<std::uint32_t>(there.size());
  const SampleId first = there[pick];
  const std::int64_t wanted = problem_->lengths[sample] - problem_->lengths[first];
  SampleId second = first;
  std::int64_t closest = INT64_MAX;
  for (const SampleId other : there) {
    const std::int64_t off = std::abs(problem_->lengths[other] - wanted);
    if (other != first && off < closest) {
      closest = off;
      second = other;
    }
  }
  return objective::Move{from, to, 1, 2, {sample}, {first, second}};
}

// All samples of two cells, where they are few enough for one move.
std::optional<objective::Move> MoveProposer::swap_cells(
    SampleId sample, const random::RandomBits& random, const objective::SearchState& state
) const {
  const CellId a = state.layout().cell_of_sample[sample];
  const CellId b{
      static_cast<std::int32_t>(random.below(2, static_cast<std::uint32_t>(problem_->num_cells()))
      )};
  const std::span<const SampleId> in_a = state.samples_of(a);
  const std::span<const SampleId> in_b = state.samples_of(b);
  if (problem_->block_of(a) == problem_->block_of(b) ||
      in_a.size() > objective::Move::kMaxSamples || in_b.size() > objective::Move::kMaxSamples) {
    return std::nullopt;
  }
  objective::Move move{a, b, static_cast<int>(in_a.size()), static_cast<int>(in_b.size()), {}, {}};
  std::copy(in_a.begin(), in_a.end(), move.from_a);
  std::copy(in_b.begin(), in_b.end(), move.from_b);
  return move;
}

Chain::Chain(
    ChainId id,
    std::uint64_t seed,
    const objective::SearchProblem& problem,
    const CellLayout& start,
    SimdLevel simd
)
    : id_(id), seed_(seed), state_(problem, start, simd) {}

StageResult Chain::run_stage(
    const Stage& stage, const MoveProposer& proposer, const random::Acceptance& acceptance
) {
  const random::Stream random{
      seed_, random::Purpose::kMoves, static_cast<std::uint32_t>(id_.value())};
  StageResult result;
  objective::SearchScore best = stage.archived;
  bool best_is_current = false;  // the layout is copied only when the chain leaves it
  const auto keep_best = [&] {
    if (best_is_current) {
      result.improvement = Improvement{best, state_.layout()};
      best_is_current = false;
    }
  };
  for (std::int64_t move_number = 0; move_number < stage.num_moves; ++move_number) {
    const random::RandomBits block =
        random.at(stage.number, static_cast<std::uint64_t>(move_number));
    const std::optional<objective::Move> move = proposer.propose(block, state_);
    if (!move) {
      continue;
    }
    const std::int64_t limit =
        acceptance.energy_limit(state_.energy(), stage.temperature, block.word(3));
    const objective::Outcome outcome = state_.evaluate(*move, limit);
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
  const random::Stream random{
      seed_, random::Purpose::kPerturbation, static_cast<std::uint32_t>(id_.value())};
  __int128 total = 0;
  std::int64_t feasible = 0;
  for (std::int64_t number = 0; number < num_moves; ++number) {
    const std::optional<objective::Move> move =
        proposer.propose(random.at(0, static_cast<std::uint64_t>(number)), state_);
    if (!move) {
      continue;
    }
    const objective::Outcome outcome = state_.evaluate(*move, INT64_MAX);
    if (!outcome.rejected) {
      total += std::abs(outcome.energy - state_.energy());
      ++feasible;
    }
  }
  return feasible == 0 ? 0 : static_cast<std::int64_t>(total / feasible);
}

}  // namespace routepack::annealing
