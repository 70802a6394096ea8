// Why fewer rows are impossible: a proof that another program can check.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace routepack {

// A lower bound on the number of cells of C tokens that the padded lengths need. Every kind is a
// weighting w of lengths such that any set of samples that fits one cell weighs at most `scale`;
// so Σ w(len) / scale, rounded up, cells are needed.
struct CellBound {
  // "sum", "more_than_half", "l2", "u", "u_l2", "f2", "count"; or "search":
  // a search of at most `parts` nodes refuted cells - 1. src/packing/bounds.hpp gives every
  // weighting.
  std::string kind;
  std::int64_t cells = 0;   // the bound
  std::int64_t lambda = 0;  // parameter of kinds that have one
  std::int64_t parts = 0;   // second parameter (k of u^(k)), 0 where unused
  bool operator==(const CellBound&) const = default;
};

enum class RowStatus { kCertified, kBestKnown };

// The rows used, and the fewest that the bound allows (a multiple of the row multiple). Certified
// where the two are equal.
struct RowCertificate {
  int num_rows = 0;
  int lower_bound_rows = 0;
  RowStatus status = RowStatus::kBestKnown;
  CellBound bound;
  bool operator==(const RowCertificate&) const = default;
};

}  // namespace routepack
