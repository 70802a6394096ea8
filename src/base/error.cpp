#include "routepack/error.hpp"

namespace routepack {

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return "USAGE";
    case ErrorCode::kFileMalformed:
      return "FILE_MALFORMED";
    case ErrorCode::kNumberOutOfRange:
      return "NUMBER_OUT_OF_RANGE";
    case ErrorCode::kInputDisagreement:
      return "INPUT_DISAGREEMENT";
    case ErrorCode::kTopologyMismatch:
      return "TOPOLOGY_MISMATCH";
    case ErrorCode::kExpertsNotDivisible:
      return "EXPERTS_NOT_DIVISIBLE";
    case ErrorCode::kZeroLengthSample:
      return "ZERO_LENGTH_SAMPLE";
    case ErrorCode::kSampleExceedsCap:
      return "SAMPLE_EXCEEDS_CAP";
    case ErrorCode::kFewerSamplesThanRanks:
      return "FEWER_SAMPLES_THAN_RANKS";
    case ErrorCode::kNonemptyCellsImpossible:
      return "NONEMPTY_CELLS_IMPOSSIBLE";
    case ErrorCode::kTooManyRouteRows:
      return "TOO_MANY_ROUTE_ROWS";
    case ErrorCode::kTooFewRouteRows:
      return "TOO_FEW_ROUTE_ROWS";
    case ErrorCode::kLayerAxisMismatch:
      return "LAYER_AXIS_MISMATCH";
    case ErrorCode::kDtypeTooNarrow:
      return "DTYPE_TOO_NARROW";
    case ErrorCode::kExpertIdOutOfRange:
      return "EXPERT_ID_OUT_OF_RANGE";
    case ErrorCode::kDuplicateExpertInRow:
      return "DUPLICATE_EXPERT_IN_ROW";
    case ErrorCode::kPartialSentinel:
      return "PARTIAL_SENTINEL";
    case ErrorCode::kLayerAllZero:
      return "LAYER_ALL_ZERO";
    case ErrorCode::kDemandNotConserved:
      return "DEMAND_NOT_CONSERVED";
    case ErrorCode::kStateIncomplete:
      return "STATE_INCOMPLETE";
    case ErrorCode::kPlanDisagreement:
      return "PLAN_DISAGREEMENT";
    case ErrorCode::kTransferFailed:
      return "TRANSFER_FAILED";
  }
  return "UNKNOWN";
}

int exit_status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kFewerSamplesThanRanks:
    case ErrorCode::kNonemptyCellsImpossible:
      return 3;
    case ErrorCode::kPlanDisagreement:
    case ErrorCode::kTransferFailed:
      return 4;
    default:
      return 2;
  }
}

}  // namespace routepack
