#include "packing/weights.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/check.hpp"
#include "base/checked.hpp"

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

void check_weights(const CellBound& bound) {
  RP_CHECK(
      bound.lengths.size() == bound.weights.size() && bound.scale >= 1, ErrorCode::kFileMalformed,
      "row proof: {} lengths, {} weights, scale {}", bound.lengths.size(), bound.weights.size(),
      bound.scale
  );
  for (std::size_t entry = 0; entry < bound.lengths.size(); ++entry) {
    RP_CHECK(
        bound.weights[entry] >= 0 &&
            bound.lengths[entry] > (entry == 0 ? 0 : bound.lengths[entry - 1]),
        ErrorCode::kFileMalformed,
        "row proof: entry {} (length {}, weight {}) is not ascending or negative", entry,
        bound.lengths[entry], bound.weights[entry]
    );
  }
}

std::int64_t step_weight(const CellBound& bound, std::int64_t length) {
  const auto above = std::upper_bound(bound.lengths.begin(), bound.lengths.end(), length);
  if (above == bound.lengths.begin()) {
    return 0;
  }
  return bound.weights[static_cast<std::size_t>(above - bound.lengths.begin()) - 1];
}

// A sample beyond C - 2λ shares its cell with one sample of λ or more at most, and that is no
// longer than the room; every other sample of 2λ or less weighs no more than its length.
std::int64_t l2_steps_weight(const CellBound& bound, std::int64_t length, std::int64_t capacity) {
  const std::int64_t room = capacity - length;
  if (length >= bound.lambda && length < 2 * bound.lambda) {
    return step_weight(bound, length);
  }
  if (room >= bound.lambda && room < 2 * bound.lambda) {
    return capacity - step_weight(bound, room);
  }
  return l2_weight(length, bound.lambda, capacity);
}

void check_steps(const CellBound& bound, std::int64_t capacity) {
  check_weights(bound);
  RP_CHECK(
      bound.lambda >= 1 && bound.lambda <= capacity / 4 && bound.scale == capacity,
      ErrorCode::kFileMalformed,
      "row proof of kind {}: lambda is {}, allowed are 1 to {}; scale {}", bound.kind, bound.lambda,
      capacity / 4, bound.scale
  );
  for (std::size_t entry = 0; entry < bound.lengths.size(); ++entry) {
    RP_CHECK(
        bound.weights[entry] <= bound.lengths[entry] &&
            bound.weights[entry] >= (entry == 0 ? 0 : bound.weights[entry - 1]),
        ErrorCode::kFileMalformed,
        "row proof of kind {}: step {} (length {}, weight {}) falls, or rises above its length",
        bound.kind, entry, bound.lengths[entry], bound.weights[entry]
    );
  }
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
  if (bound.kind == "l2_steps") {
    check_steps(bound, capacity);
    return cells_by(lengths, capacity, [&](std::int64_t length) {
      return l2_steps_weight(bound, length, capacity);
    });
  }
  if (bound.kind == "weights") {
    check_weights(bound);
    return cells_by(lengths, bound.scale, [&](std::int64_t length) {
      return step_weight(bound, length);
    });
  }
  fail(ErrorCode::kFileMalformed, "row proof of unknown kind '{}'", bound.kind);
}

std::int64_t heaviest_cell(
    const std::vector<std::int64_t>& lengths,
    const std::vector<std::int64_t>& weights,
    std::int64_t capacity
) {
  std::int64_t unit = 0;
  for (const std::int64_t length : lengths) {
    unit = std::gcd(unit, length);
  }
  if (unit == 0) {
    return 0;
  }
  constexpr std::int64_t kMaxStates = std::int64_t{1} << 26;
  constexpr std::int64_t kMaxSteps = std::int64_t{1} << 34;
  const std::int64_t num_units = capacity / unit;
  RP_CHECK(
      num_units < kMaxStates && num_units * static_cast<std::int64_t>(lengths.size()) < kMaxSteps,
      ErrorCode::kFileMalformed,
      "row proof: weights of {} lengths in units of {} tokens are too many to check against a "
      "capacity of {}",
      lengths.size(), unit, capacity
  );
  const std::int64_t max_weight = *std::max_element(weights.begin(), weights.end());
  RP_CHECK(
      max_weight <= std::numeric_limits<std::int64_t>::max() / (num_units + 1),
      ErrorCode::kFileMalformed, "row proof: weight {} is too large to add up", max_weight
  );
  std::vector<std::int64_t> heaviest(static_cast<std::size_t>(num_units) + 1, 0);
  for (std::size_t entry = 0; entry < lengths.size(); ++entry) {
    const auto size = static_cast<std::size_t>(lengths[entry] / unit);
    const std::int64_t weight = weights[entry];
    for (std::size_t used = size; used < heaviest.size(); ++used) {
      heaviest[used] = std::max(heaviest[used], heaviest[used - size] + weight);
    }
  }
  return heaviest.back();
}

}  // namespace routepack
