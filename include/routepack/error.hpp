// The errors that a user can meet, their codes and exit statuses (docs/errors.md).
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace routepack {

enum class ErrorCode {
  kUsage,                    // unknown or contradictory option
  kFileMalformed,            // missing, truncated or wrong-format file
  kNumberOutOfRange,         // a value that no field can hold
  kInputDisagreement,        // ranks were given different options or windows
  kTopologyMismatch,         // the parallel sizes do not give whole EDP shards
  kExpertsNotDivisible,      // E is no multiple of ep
  kZeroLengthSample,         // a sample without tokens
  kSampleExceedsCap,         // a padded length over the capacity
  kFewerSamplesThanRanks,    // N < dp
  kNonemptyCellsImpossible,  // every feasible row count has more cells than samples
  kTooManyRouteRows,         // more routes than tokens
  kTooFewRouteRows,          // fewer routes than tokens - 1
  kLayerAxisMismatch,        // the layer axis is neither MoE layers nor all layers
  kDtypeTooNarrow,           // the dtype cannot hold the largest expert id
  kExpertIdOutOfRange,       // an expert id below 0 or of E and above
  kDuplicateExpertInRow,     // a token routed twice to one expert
  kPartialSentinel,          // some, but not all, ids of a token are -1
  kLayerAllZero,             // a layer of a sample that was not captured
  kDemandNotConserved,       // per-layer totals disagree
  kStateIncomplete,          // an expert-axis tensor is missing from a shuffle's registry
  kPlanDisagreement,         // ranks hold different plans
  kTransferFailed,           // a transfer timed out or arrived damaged
};

// The word printed between the brackets, e.g. "SAMPLE_EXCEEDS_CAP".
[[nodiscard]] std::string_view name_of(ErrorCode code);

// 2 bad input or usage, 3 no plan exists, 4 a rank, a link or a device failed.
[[nodiscard]] int exit_status_of(ErrorCode code);

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& text) : std::runtime_error(text), code_(code) {}
  [[nodiscard]] ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace routepack
