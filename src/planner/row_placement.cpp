#include "planner/row_placement.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "comm/collectives.hpp"
#include "planner/block_demand.hpp"
#include "random/stream.hpp"

namespace routepack {
namespace {

constexpr int kSwapsOfAPerturbation = 2;

// A descent costs about E² · blocks steps; rounds are as many as keep a layer to a few
// milliseconds.
int num_rounds(std::size_t experts, std::size_t padded_blocks) {
  constexpr std::size_t kWork = 10'000'000;
  constexpr std::size_t kMostRounds = 32;
  return static_cast<int>(
      std::clamp<std::size_t>(kWork / (experts * experts * padded_blocks), 1, kMostRounds)
  );
}

LayerPlacement perturb(LayerPlacement slots, const Stream& random, std::uint32_t round) {
  const auto experts = static_cast<std::uint32_t>(slots.size());
  for (std::uint64_t swap = 0; swap < kSwapsOfAPerturbation; ++swap) {
    const Block draw = random.at(round, swap);
    const ExpertId one{static_cast<std::int32_t>(draw.below(0, experts))};
    const ExpertId other{static_cast<std::int32_t>(draw.below(1, experts))};
    std::swap(slots[one], slots[other]);
  }
  return slots;
}

// Iterated local search on the sum of the blocks' peaks.
LayerPlacement search_layer(
    const LayerBlocks& blocks,
    int num_blocks,
    int ep,
    const LayerPlacement& start,
    const RowAwareOptions& options,
    std::uint64_t seed
) {
  const Stream random{
      seed, Purpose::kPerturbation, static_cast<std::uint32_t>(blocks.layer.value())};
  RowAwareResult best = refine_layer(blocks.demand, num_blocks, ep, start, options);
  const int rounds = num_rounds(start.size(), blocks.demand.size() / start.size());
  for (int round = 0; round < rounds; ++round) {
    RowAwareResult next = refine_layer(
        blocks.demand, num_blocks, ep,
        perturb(best.slots, random, static_cast<std::uint32_t>(round)), options
    );
    if (next.sum_peaks < best.sum_peaks) {
      best = std::move(next);
    }
  }
  return best.slots;
}

}  // namespace

Placement refine_placement(
    const WindowSlice& slice,
    const CellLayout& layout,
    const Placement& placement,
    const Placement* current,
    const Topology& topology,
    std::uint64_t seed,
    int num_threads,
    SimdLevel simd,
    const Communicator& comm
) {
  const std::vector<LayerBlocks> mine = reduce_block_demand(slice, layout, topology, comm);
  const auto experts = static_cast<std::size_t>(placement.num_experts);
  std::vector<std::uint16_t> slots(mine.size() * experts);
  const auto count = static_cast<std::int32_t>(mine.size());
#pragma omp parallel for schedule(dynamic) num_threads(num_threads)
  for (std::int32_t n = 0; n < count; ++n) {
    const auto at = static_cast<std::size_t>(n);
    RowAwareOptions options;
    options.simd = simd;
    options.current = current != nullptr ? &current->layers[mine[at].layer] : nullptr;
    const LayerPlacement refined = search_layer(
        mine[at], layout.num_rows * topology.edp(), topology.ep, placement.layers[mine[at].layer],
        options, seed
    );
    for (const ExpertId expert : ids<ExpertId>(experts)) {
      slots[at * experts + expert.offset()] = static_cast<std::uint16_t>(refined[expert].value());
    }
  }
  const std::vector<std::uint16_t> all = all_gather(slots, comm);
  Placement refined = placement;
  std::size_t next = 0;
  const int num_layers = static_cast<int>(placement.layers.size());
  for (int rank = 0; rank < comm.num_mpi_ranks(); ++rank) {
    for (int layer = rank; layer < num_layers; layer += comm.num_mpi_ranks()) {
      for (const ExpertId expert : ids<ExpertId>(experts)) {
        refined.layers[MoeLayer{layer}][expert] = SlotId{static_cast<std::int32_t>(all[next++])};
      }
    }
  }
  return refined;
}

}  // namespace routepack
