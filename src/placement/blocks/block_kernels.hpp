// The inner loops of placement for blocks, with blocks in vector lanes, at the best instruction set
// of the machine. Every level gives the same integers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/simd.hpp"

namespace routepack::placement {

// Blocks a vector step; arrays over blocks are padded with zeros to a multiple of it.
inline constexpr std::size_t kBlockLanes = 16;

// What two EP ranks are judged by in each block.
enum class PairObjective {
  kPeaks,   // max(level, load a, load b), with level = maximum over all other ranks
  kExcess,  // max(0, load a - level) + max(0, load b - level), with level = a target
};

// Two EP ranks over some blocks: [steps * kBlockLanes] each.
struct PairLoads {
  const std::uint32_t* level = nullptr;
  const std::uint32_t* load_a = nullptr;
  const std::uint32_t* load_b = nullptr;
  std::size_t steps = 0;
  // Steps whose block totals fit 32 bits when summed lane by lane.
  std::size_t safe_steps = 1;
};

// Which expert of rank b may take the place of one expert of rank a.
struct PartnerQuery {
  // The marked blocks (`hot`; no swap lowers any other block), and all of them. The experts' demand
  // comes in the order of either.
  PairLoads hot;
  PairLoads all;
  bool hot_is_all = true;
  std::int64_t cold_sum = 0;  // the objective outside `hot` as it is
  const std::uint32_t* out_hot = nullptr;
  const std::uint32_t* out_all = nullptr;
  // Candidates, ascending by `bound`: a lower bound on the cost of taking them, less
  // `bound_offset`.
  const std::uint32_t* const* in_hot = nullptr;
  const std::uint32_t* const* in_all = nullptr;
  const std::int64_t* bound = nullptr;
  const std::int32_t* moves = nullptr;  // change of the moved experts by the candidate
  std::size_t num_candidates = 0;
  std::int64_t bound_offset = 0;
  std::int64_t price = 0;       // a moved expert
  std::int64_t cost_below = 0;  // only a cost below this is of interest
};

// Cost of a candidate: Σ over all blocks of the objective after the swap + price * moves.
struct Partner {
  std::size_t candidate = 0;  // num_candidates: none
  std::int64_t cost = 0;
};

// Blocks where less load on one of the two ranks would lower the objective: all ones, else zero.
// [steps * kBlockLanes]
struct GainMasks {
  std::uint32_t* a = nullptr;
  std::uint32_t* b = nullptr;
};

// EP ranks a and b exchange two experts.
struct ExchangeQuery {
  const std::uint32_t* load_a = nullptr;
  const std::uint32_t* load_b = nullptr;
  const std::uint32_t* out = nullptr;            // demand that leaves a for b
  const std::uint32_t* in = nullptr;             // demand that leaves b for a
  const std::uint32_t* const* others = nullptr;  // loads whose maximum is that of the other ranks
  std::size_t num_others = 0;
  std::size_t steps = 0;
  std::size_t safe_steps = 1;  // as in PairLoads
};

struct BlockKernels {
  // The cheapest candidate; ties: the first.
  Partner (*find_partner)(const PartnerQuery& query);
  // Σ over blocks of the objective.
  std::int64_t (*sum)(const PairLoads& loads);
  void (*mark)(const PairLoads& loads, const GainMasks& masks);
  // Σ of an expert's demand where rank a is marked, less Σ where rank b is.
  std::int64_t (*sum_marked
  )(const std::uint32_t* demand, const GainMasks& masks, std::size_t steps, std::size_t safe_steps);
  // result = max(x, y), element by element.
  void (*take_larger
  )(std::uint32_t* result, const std::uint32_t* x, const std::uint32_t* y, std::size_t steps);
  // Σ over blocks of the peaks after an exchange.
  std::int64_t (*sum_exchanged)(const ExchangeQuery& query);
};

[[nodiscard]] const BlockKernels& block_kernels(SimdLevel level, PairObjective objective);

}  // namespace routepack::placement
