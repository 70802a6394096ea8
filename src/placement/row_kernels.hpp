// The inner loops of row-aware placement, with blocks in vector lanes, at the best instruction set
// of the machine. Every level gives the same integers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/simd.hpp"

namespace routepack {

// Blocks a vector step; arrays over blocks are padded with zeros to a multiple of it.
inline constexpr std::size_t kBlockLanes = 16;

// Two EP ranks over some blocks: [steps * kBlockLanes] each.
struct PairLoads {
  const std::uint32_t* others = nullptr;  // maximum over all other ranks
  const std::uint32_t* load_a = nullptr;
  const std::uint32_t* load_b = nullptr;
  std::size_t steps = 0;
  // Steps whose peaks fit 32 bits when summed lane by lane.
  std::size_t safe_steps = 1;
};

// Which expert of rank b may take the place of one expert of rank a.
struct PartnerQuery {
  // The blocks where a or b alone sets the peak (`hot`; no swap lowers any other block), and all
  // of them. The experts' demand comes in the order of either.
  PairLoads hot;
  PairLoads all;
  bool hot_is_all = true;
  std::int64_t cold_peaks = 0;  // Σ of present peaks outside `hot`
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
  std::int32_t max_moves = 0;   // candidates above are refused
  std::int64_t cost_below = 0;  // only a cost below this is of interest
};

// Cost of a candidate: Σ of peaks over all blocks after the swap + price * moves.
struct Partner {
  std::size_t candidate = 0;  // num_candidates: none
  std::int64_t cost = 0;
};

// Where each of the two ranks alone sets the peak: all ones, else zero. [steps * kBlockLanes]
struct PeakMasks {
  std::uint32_t* a = nullptr;
  std::uint32_t* b = nullptr;
};

struct RowKernels {
  // The cheapest candidate; ties: the first.
  Partner (*find_partner)(const PartnerQuery& query);
  // Σ of peaks.
  std::int64_t (*sum_peaks)(const PairLoads& loads);
  void (*mark_peaks)(const PairLoads& loads, const PeakMasks& masks);
  // Σ of an expert's demand where rank a alone sets the peak, less Σ where rank b does.
  std::int64_t (*sum_marked
  )(const std::uint32_t* demand, const PeakMasks& masks, std::size_t steps, std::size_t safe_steps);
  // result = max(x, y), element by element.
  void (*take_larger
  )(std::uint32_t* result, const std::uint32_t* x, const std::uint32_t* y, std::size_t steps);
};

[[nodiscard]] const RowKernels& row_kernels(SimdLevel level);

}  // namespace routepack
