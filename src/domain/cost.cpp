#include "routepack/cost.hpp"

#include <cmath>

#include "base/check.hpp"

namespace routepack {
namespace {

void check_coefficient(double value, const std::string& name) {
  // Far from any cost, and so far from the ends of a double that no sum or quotient meets them.
  constexpr double kLeast = 1e-100;
  constexpr double kMost = 1e100;
  RP_CHECK(
      value == 0.0 || (value >= kLeast && value <= kMost), ErrorCode::kNumberOutOfRange,
      "{} is {}, allowed are 0 and {} to {}", name, value, kLeast, kMost
  );
}

}  // namespace

void validate_cost(const CostModel& cost) {
  // Far above any model. Whether sums of tokens and of squared lengths fit 64 bits depends on the
  // samples: pad_lengths and check_squared_lengths see to that.
  constexpr std::int64_t kMaxCapacity = std::int64_t{1} << 40U;
  RP_CHECK(
      cost.capacity_tokens >= 1 && cost.capacity_tokens <= kMaxCapacity,
      ErrorCode::kNumberOutOfRange, "capacity is {} tokens, allowed are 1 to {}",
      cost.capacity_tokens, kMaxCapacity
  );
  for (const AttentionStage& stage : cost.stages) {
    check_coefficient(stage.alpha, "alpha of stage " + stage.name);
    check_coefficient(stage.beta, "beta of stage " + stage.name);
  }
  check_coefficient(cost.expert_weight, "expert weight");
}

}  // namespace routepack
