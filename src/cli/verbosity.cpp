#include "cli/command.hpp"

namespace routepack::cli {

Verbosity verbosity_of(const OptionValues& values) {
  if (values.flag("quiet")) {
    return Verbosity::kQuiet;
  }
  return values.flag("verbose") ? Verbosity::kVerbose : Verbosity::kNormal;
}

}  // namespace routepack::cli
