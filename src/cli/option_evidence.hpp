// What the ranks of a command must have been given alike.
#pragma once

#include <vector>

#include "cli/option_table.hpp"
#include "comm/agreement.hpp"

namespace routepack::cli {

// Every option of the command and the common ones, files of --config included, by AcrossRanks:
// numbers as they are understood, so that 1 and 1.0 are equal.
[[nodiscard]] std::vector<NamedEvidence> evidence_of(
    const CommandSpec& command, const OptionValues& values
);

}  // namespace routepack::cli
