#include "packing/weights.hpp"

#include "base/check.hpp"

namespace routepack {
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
  fail(ErrorCode::kFileMalformed, "row proof of unknown kind '{}'", bound.kind);
}

}  // namespace routepack
