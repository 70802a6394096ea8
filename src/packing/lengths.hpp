// Lengths as packing sees them: padded, checked against the capacity, and counted.
#pragma once

#include <cstdint>
#include <vector>

#include "routepack/ids.hpp"
#include "routepack/options.hpp"

namespace routepack::packing {

using PaddedLengths = IndexVector<SampleId, std::int64_t>;  // tokens, one a sample

// Every length rounded up to a multiple of `pad_multiple`. Throws ZERO_LENGTH_SAMPLE naming the
// samples without tokens, SAMPLE_EXCEEDS_CAP naming those that no cell can hold (where `oversize`
// does not allow them a cell of their own), and NUMBER_OUT_OF_RANGE for a pad multiple or capacity
// below 1 and where the tokens of so many full cells as samples pass 64 bits.
[[nodiscard]] IndexVector<SampleId, std::int64_t> pad_lengths(
    const std::vector<std::int64_t>& lengths,
    std::int64_t pad_multiple,
    std::int64_t capacity_tokens,
    Oversize oversize = Oversize::kError
);

// Samples over the capacity, ascending.
[[nodiscard]] std::vector<SampleId> find_oversized(
    const IndexVector<SampleId, std::int64_t>& padded, std::int64_t capacity_tokens
);

// What a sample takes of a cell's capacity: its padded length, or all of it. Packing by these
// leaves every oversized sample alone.
[[nodiscard]] IndexVector<SampleId, std::int64_t> lengths_in_cells(
    IndexVector<SampleId, std::int64_t> padded, std::int64_t capacity_tokens
);

// Samples by length descending, ties by id ascending: the order of every decreasing fit.
[[nodiscard]] std::vector<SampleId> longest_first(const PaddedLengths& padded);

// A distinct length and how many samples have it.
struct LengthCount {
  std::int64_t length = 0;
  std::int64_t count = 0;
  bool operator==(const LengthCount&) const = default;
};

// The distinct lengths, ascending.
[[nodiscard]] std::vector<LengthCount> count_lengths(const PaddedLengths& padded);

}  // namespace routepack::packing
