// Lower bounds on the number of cells that padded lengths need, each with what a checker needs to
// recompute it. Kinds of CellBound (C capacity, w the weight of a length x, s the scale; any set
// that fits one cell weighs at most s):
//   sum             w = x, s = C
//   more_than_half  w = 1 for x > C/2, else 0, s = 1
//   l2              w = C for x > C-λ, 0 for x < λ, else x, s = C; 0 < λ <= C/2 (Martello, Toth)
//   u               w = k·x where (k+1)·x is a multiple of C, else C·floor((k+1)·x / C), s = k·C;
//                   k = parts >= 1 (Fekete, Schepers)
//   u_l2            u of l2
//   f2              n = floor(C/λ): w = 2·floor(x/λ) below C/2, n at C/2, 2·(n - floor((C-x)/λ))
//                   above, s = 2·n; 0 < λ <= C/2 (Carlier, Clautiaux, Moukrim)
//   count           w = 1, s = k = parts: where no cell may hold more than k samples
//   search          cells - 1 cells were refuted by a complete search of at most `parts` nodes
#pragma once

#include <cstdint>
#include <vector>

#include "domain/tuning.hpp"
#include "packing/lengths.hpp"
#include "routepack/certificate.hpp"

namespace routepack::packing {

// The best of sum, more_than_half and l2 over all λ; O(n) for sorted lengths.
[[nodiscard]] CellBound best_simple_bound(
    const std::vector<LengthCount>& lengths, std::int64_t capacity_tokens
);

// The best of u, f2 and u_l2 over the parameters k and λ that the tuning allows. O(n) a parameter.
[[nodiscard]] CellBound best_dual_feasible_bound(
    const std::vector<LengthCount>& lengths,
    std::int64_t capacity_tokens,
    const domain::Tuning::Packing& tuning = {}
);

// Of "count": ceil(N / k) for at most k samples a cell; no cells where k does not limit them.
[[nodiscard]] CellBound count_bound(std::int64_t num_samples, int max_samples);

// What a complete search of at most `max_nodes` nodes proves that refuted `num_cells` cells.
[[nodiscard]] CellBound refuted_cells_bound(std::int64_t num_cells, std::int64_t max_nodes);

// Recomputes the bound from its kind and parameters and returns the number of cells. Throws
// FILE_MALFORMED for an unknown kind, parameters outside their range, or a stated
// number of cells that differs. O(n); kind "search" repeats the search.
[[nodiscard]] std::int64_t verify_bound(
    const CellBound& bound, const PaddedLengths& padded, std::int64_t capacity_tokens
);

// ceil(Σ count · weight / scale) cells: what the kind and parameters of `bound` prove, whatever its
// `cells` say. Throws FILE_MALFORMED for a kind that is no weighting and for parameters outside
// their range.
[[nodiscard]] std::int64_t weighted_cells(
    const CellBound& bound, const std::vector<LengthCount>& lengths, std::int64_t capacity_tokens
);

}  // namespace routepack::packing
