// Exact integer shares of a total under a cap: the step from real-valued rates to counts that add
// up.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace routepack::synth {

// Shares proportional to the weights, except that none exceeds `cap`; they sum to exactly `total`,
// and a weight of 0 gets 0. Needs finite weights >= 0 and cap * (positive weights) >= total. The
// units lost by rounding down go to the lowest ids that have room.
[[nodiscard]] std::vector<std::int64_t> apportion(
    std::span<const double> weights, std::int64_t total, std::int64_t cap
);

// Rounds fixed-point shares, in units of 2^-fraction_bits, to integers with the same (whole) sum:
// each becomes its floor or its ceiling, with expectation equal to the share where `offset` is
// uniform in [0, 2^fraction_bits) (systematic sampling).
[[nodiscard]] std::vector<std::int64_t> round_systematically(
    std::span<const std::int64_t> shares, int fraction_bits, std::int64_t offset
);

}  // namespace routepack::synth
