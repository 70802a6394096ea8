#include "packing/bounds.hpp"

#include <algorithm>
#include <string>

#include "base/check.hpp"
#include "packing/row_search.hpp"

namespace routepack::packing {
namespace {

struct LambdaBound {
  std::int64_t lambda = 0;
  std::int64_t cells = 0;
};

// l2 of every distinct length up to C/2. Between two of them only fewer samples fill a whole cell.
// Two pointers: as λ grows, short samples drop out and long ones grow to a whole cell.
std::vector<LambdaBound> l2_bounds(const std::vector<LengthCount>& lengths, std::int64_t capacity) {
  std::vector<LambdaBound> bounds;
  std::int64_t middle_tokens = 0;  // of lengths from λ to C-λ
  for (const LengthCount& entry : lengths) {
    middle_tokens += entry.length * entry.count;
  }
  std::int64_t whole_cells = 0;
  std::size_t longest = lengths.size();
  for (const LengthCount& shortest : lengths) {
    const std::int64_t lambda = shortest.length;
    if (lambda > capacity / 2) {
      break;
    }
    while (longest > 0 && lengths[longest - 1].length > capacity - lambda) {
      --longest;
      whole_cells += lengths[longest].count;
      middle_tokens -= lengths[longest].length * lengths[longest].count;
    }
    bounds.push_back({lambda, whole_cells + base::ceil_divide(middle_tokens, capacity)});
    middle_tokens -= shortest.length * shortest.count;
  }
  return bounds;
}

CellBound make_bound(
    std::string kind,
    std::int64_t lambda,
    std::int64_t parts,
    const std::vector<LengthCount>& lengths,
    std::int64_t capacity
) {
  CellBound bound;
  bound.kind = std::move(kind);
  bound.lambda = lambda;
  bound.parts = parts;
  bound.cells = weighted_cells(bound, lengths, capacity);
  return bound;
}

// At most `max_count` of the distinct lengths up to C/2, evenly spread.
std::vector<std::int64_t> spread_lambdas(
    const std::vector<LengthCount>& lengths, std::int64_t capacity, std::size_t max_count
) {
  std::size_t available = 0;
  while (available < lengths.size() && lengths[available].length <= capacity / 2) {
    ++available;
  }
  std::vector<std::int64_t> lambdas;
  const std::size_t count = std::min(available, max_count);
  for (std::size_t n = 0; n < count; ++n) {
    lambdas.push_back(lengths[n * available / count].length);
  }
  return lambdas;
}

}  // namespace

CellBound best_simple_bound(const std::vector<LengthCount>& lengths, std::int64_t capacity) {
  CellBound best = make_bound("sum", 0, 0, lengths, capacity);
  CellBound half = make_bound("more_than_half", 0, 0, lengths, capacity);
  if (half.cells > best.cells) {
    best = half;
  }
  LambdaBound best_l2;
  for (const LambdaBound& bound : l2_bounds(lengths, capacity)) {
    if (bound.cells > best_l2.cells) {
      best_l2 = bound;
    }
  }
  if (best_l2.cells > best.cells) {
    best = make_bound("l2", best_l2.lambda, 0, lengths, capacity);
  }
  return best;
}

CellBound best_dual_feasible_bound(
    const std::vector<LengthCount>& lengths,
    std::int64_t capacity,
    const domain::Tuning::Packing& tuning
) {
  CellBound best = make_bound("u", 0, 1, lengths, capacity);
  const auto keep_better = [&](CellBound candidate) {
    if (candidate.cells > best.cells) {
      best = std::move(candidate);
    }
  };
  for (std::int64_t parts = 2; parts <= tuning.max_parts; ++parts) {
    keep_better(make_bound("u", 0, parts, lengths, capacity));
  }
  for (const std::int64_t lambda : spread_lambdas(lengths, capacity, tuning.max_lambdas)) {
    keep_better(make_bound("f2", lambda, 0, lengths, capacity));
  }
  std::vector<LambdaBound> l2 = l2_bounds(lengths, capacity);
  std::sort(l2.begin(), l2.end(), [](const LambdaBound& a, const LambdaBound& b) {
    return a.cells != b.cells ? a.cells > b.cells : a.lambda < b.lambda;
  });
  l2.resize(std::min(l2.size(), tuning.max_composed_lambdas));
  for (const LambdaBound& bound : l2) {
    for (std::int64_t parts = 1; parts <= tuning.max_parts; ++parts) {
      keep_better(make_bound("u_l2", bound.lambda, parts, lengths, capacity));
    }
  }
  return best;
}

CellBound count_bound(std::int64_t num_samples, int max_samples) {
  CellBound bound;
  bound.kind = std::string{"count"};
  if (max_samples < num_samples) {
    bound.cells = base::ceil_divide(num_samples, std::int64_t{max_samples});
    bound.parts = max_samples;
  }
  return bound;
}

CellBound refuted_cells_bound(std::int64_t num_cells, std::int64_t max_nodes) {
  CellBound bound;
  bound.kind = std::string{"search"};
  bound.cells = num_cells + 1;
  bound.parts = max_nodes;
  return bound;
}

std::int64_t verify_bound(
    const CellBound& bound, const PaddedLengths& padded, std::int64_t capacity
) {
  std::int64_t cells = 0;
  if (bound.kind == "search") {
    RP_CHECK(
        bound.cells >= 1 && search_packing(padded, capacity, bound.cells - 1, bound.parts).end ==
                                PackingEnd::kRefuted,
        ErrorCode::kFileMalformed, "row proof: a search of {} nodes does not refute {} cells",
        bound.parts, bound.cells - 1
    );
    cells = bound.cells;
  } else if (bound.kind == "count") {
    RP_CHECK(
        bound.parts >= 1, ErrorCode::kFileMalformed,
        "row proof of kind count: at most {} samples a cell", bound.parts
    );
    cells = base::ceil_divide(static_cast<std::int64_t>(padded.size()), bound.parts);
  } else {
    cells = weighted_cells(bound, count_lengths(padded), capacity);
  }
  RP_CHECK(
      cells == bound.cells, ErrorCode::kFileMalformed,
      "row proof of kind {} states {} cells, recomputed {}", bound.kind, bound.cells, cells
  );
  return cells;
}

namespace {

__extension__ using Int128 = __int128;

std::int64_t l2_weight(std::int64_t length, std::int64_t lambda, std::int64_t capacity) {
  if (length < lambda) {
    return 0;
  }
  return length > capacity - lambda ? capacity : length;
}

// Scale parts * capacity.
Int128 u_weight(std::int64_t length, std::int64_t parts, std::int64_t capacity) {
  const Int128 stretched = Int128{length} * (parts + 1);
  if (stretched % capacity == 0) {
    return Int128{length} * parts;
  }
  return stretched / capacity * capacity;
}

std::int64_t f2_weight(std::int64_t length, std::int64_t lambda, std::int64_t capacity) {
  const std::int64_t most = capacity / lambda;
  if (length > capacity - length) {
    return 2 * (most - (capacity - length) / lambda);
  }
  return length == capacity - length ? most : 2 * (length / lambda);
}

template <class Weight>
std::int64_t cells_by(const std::vector<LengthCount>& lengths, Int128 scale, const Weight& weight) {
  Int128 total = 0;
  for (const LengthCount& entry : lengths) {
    total += Int128{weight(entry.length)} * entry.count;
  }
  return static_cast<std::int64_t>((total + scale - 1) / scale);
}

void check_lambda(const CellBound& bound, std::int64_t capacity) {
  RP_CHECK(
      bound.lambda >= 1 && bound.lambda <= capacity / 2, ErrorCode::kFileMalformed,
      "row proof of kind {}: lambda is {}, allowed are 1 to {}", bound.kind, bound.lambda,
      capacity / 2
  );
}

void check_parts(const CellBound& bound) {
  constexpr std::int64_t kMaxParts = 1 << 20;
  RP_CHECK(
      bound.parts >= 1 && bound.parts <= kMaxParts, ErrorCode::kFileMalformed,
      "row proof of kind {}: parts is {}, allowed are 1 to {}", bound.kind, bound.parts, kMaxParts
  );
}

}  // namespace

std::int64_t weighted_cells(
    const CellBound& bound, const std::vector<LengthCount>& lengths, std::int64_t capacity
) {
  if (bound.kind == "sum") {
    return cells_by(lengths, capacity, [](std::int64_t length) { return length; });
  }
  if (bound.kind == "more_than_half") {
    return cells_by(lengths, 1, [&](std::int64_t length) {
      return length > capacity - length ? 1 : 0;
    });
  }
  if (bound.kind == "l2") {
    check_lambda(bound, capacity);
    return cells_by(lengths, capacity, [&](std::int64_t length) {
      return l2_weight(length, bound.lambda, capacity);
    });
  }
  if (bound.kind == "u") {
    check_parts(bound);
    return cells_by(lengths, Int128{bound.parts} * capacity, [&](std::int64_t length) {
      return u_weight(length, bound.parts, capacity);
    });
  }
  if (bound.kind == "u_l2") {
    check_lambda(bound, capacity);
    check_parts(bound);
    return cells_by(lengths, Int128{bound.parts} * capacity, [&](std::int64_t length) {
      return u_weight(l2_weight(length, bound.lambda, capacity), bound.parts, capacity);
    });
  }
  if (bound.kind == "f2") {
    check_lambda(bound, capacity);
    return cells_by(lengths, Int128{2} * (capacity / bound.lambda), [&](std::int64_t length) {
      return f2_weight(length, bound.lambda, capacity);
    });
  }
  base::fail(ErrorCode::kFileMalformed, "row proof of unknown kind '{}'", bound.kind);
}

}  // namespace routepack::packing
