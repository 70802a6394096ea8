// Reads a command's options from the command line and from files.
#pragma once

#include <string>
#include <vector>

#include "cli/option_table.hpp"

namespace routepack::cli {

// Sets the variables of the table from a command's arguments and the files of --config; the command
// line wins, also over what a file says in contradiction to it. Throws as OptionTable::take does,
// USAGE for an option that is unknown or repeated, FILE_MALFORMED for an unreadable file.
void parse_options(OptionTable& table, const std::vector<std::string>& arguments);

[[nodiscard]] std::string help_text(const OptionTable& table);

}  // namespace routepack::cli
