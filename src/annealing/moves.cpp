#include "annealing/moves.hpp"

#include <algorithm>
#include <cstdlib>

namespace routepack {
namespace {

// Shares of the kinds of moves, out of 256, in the order of propose().
constexpr std::uint32_t kNearSwap = 96;
constexpr std::uint32_t kFarSwap = 36;
constexpr std::uint32_t kSwapWithinBlock = 28;
constexpr std::uint32_t kAnySwap = 32;
constexpr std::uint32_t kRelocate = 24;
constexpr std::uint32_t kOneForTwo = 32;

constexpr int kNearReach = 8;
constexpr int kFarReach = 64;

}  // namespace

MoveProposer::MoveProposer(const SearchProblem& problem)
    : problem_(&problem), length_rank_{problem.lengths.size(), 0} {
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

std::optional<Move> MoveProposer::propose(const RandomBits& random, const SearchState& state)
    const {
  const auto num_samples = static_cast<std::uint32_t>(problem_->num_samples());
  const SampleId sample{static_cast<std::int32_t>(random.below(1, num_samples))};
  std::uint32_t kind = random.word(0) & 0xffU;
  if (kind < kNearSwap) {
    return swap(sample, neighbour(sample, random.word(2), kNearReach), state);
  }
  kind -= kNearSwap;
  if (kind < kFarSwap) {
    return swap(sample, neighbour(sample, random.word(2), kFarReach), state);
  }
  kind -= kFarSwap;
  if (kind < kSwapWithinBlock) {
    return swap_within_block(sample, random, state);
  }
  kind -= kSwapWithinBlock;
  if (kind < kAnySwap) {
    return swap(sample, SampleId{static_cast<std::int32_t>(random.below(2, num_samples))}, state);
  }
  kind -= kAnySwap;
  const CellId from = state.layout().cell_of_sample[sample];
  if (kind < kRelocate) {
    const CellId to = any_cell(from, random);
    if (from == to) {
      return std::nullopt;
    }
    return Move{from, to, 1, 0, {sample}, {}};
  }
  kind -= kRelocate;
  return kind < kOneForTwo ? one_for_two(sample, random, state) : swap_cells(sample, random, state);
}

// Where DP slots hold equal numbers, only cells of one slot may change theirs.
CellId MoveProposer::any_cell(CellId from, const RandomBits& random) const {
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

std::optional<Move> MoveProposer::swap(SampleId a, SampleId b, const SearchState& state) const {
  const CellId cell_a = state.layout().cell_of_sample[a];
  const CellId cell_b = state.layout().cell_of_sample[b];
  if (cell_a == cell_b) {
    return std::nullopt;
  }
  return Move{cell_a, cell_b, 1, 1, {a}, {b}};
}

// With a sample of another cell of the block: evens its attention and leaves its experts alone.
std::optional<Move> MoveProposer::swap_within_block(
    SampleId sample, const RandomBits& random, const SearchState& state
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
std::optional<Move> MoveProposer::one_for_two(
    SampleId sample, const RandomBits& random, const SearchState& state
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
  return Move{from, to, 1, 2, {sample}, {first, second}};
}

// All samples of two cells, where they are few enough for one move.
std::optional<Move> MoveProposer::swap_cells(
    SampleId sample, const RandomBits& random, const SearchState& state
) const {
  const CellId a = state.layout().cell_of_sample[sample];
  const CellId b{
      static_cast<std::int32_t>(random.below(2, static_cast<std::uint32_t>(problem_->num_cells()))
      )};
  const std::span<const SampleId> in_a = state.samples_of(a);
  const std::span<const SampleId> in_b = state.samples_of(b);
  if (problem_->block_of(a) == problem_->block_of(b) || in_a.size() > Move::kMaxSamples ||
      in_b.size() > Move::kMaxSamples) {
    return std::nullopt;
  }
  Move move{a, b, static_cast<int>(in_a.size()), static_cast<int>(in_b.size()), {}, {}};
  std::copy(in_a.begin(), in_a.end(), move.from_a);
  std::copy(in_b.begin(), in_b.end(), move.from_b);
  return move;
}

}  // namespace routepack
