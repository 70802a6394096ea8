#include "routepack/cost.hpp"

#include <cmath>

#include "base/check.hpp"

namespace routepack {
namespace {

void check_coefficient(double value, const std::string& name) {
  RP_CHECK(
      std::isfinite(value) && value >= 0.0, ErrorCode::kNumberOutOfRange,
      "{} is {}, it must be finite and not negative", name, value
  );
}

}  // namespace

void validate_cost(const CostModel& cost) {
  // Squared lengths of a whole window must fit int64: capacity² * 2^20 samples at most.
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
