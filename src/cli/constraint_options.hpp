// The options that bind a plan to what the trainer's contract asks for.
#pragma once

#include <vector>

#include "cli/option_table.hpp"
#include "routepack/options.hpp"

namespace routepack::cli {

[[nodiscard]] std::vector<Option> constraint_options();

// Throws USAGE for a word that an option does not know.
[[nodiscard]] Constraints constraints_of(const OptionValues& values);

}  // namespace routepack::cli
