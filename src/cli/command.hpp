// A subcommand: what it accepts and what it does.
#pragma once

#include <vector>

#include "base/log.hpp"
#include "cli/option_table.hpp"
#include "comm/communicator.hpp"

namespace routepack::cli {

struct Command {
  CommandSpec spec;
  // Collective. Throws the same Error on every rank, or none.
  void (*run)(const OptionValues& values, const Communicator& comm);
};

// Every subcommand, in the order of --help.
[[nodiscard]] const std::vector<Command>& commands();

[[nodiscard]] Command demand_command();
[[nodiscard]] Command place_command();
[[nodiscard]] Command plan_command();
[[nodiscard]] Command synth_command();
[[nodiscard]] Command shuffle_check_command();

// --quiet and --verbose.
[[nodiscard]] Verbosity verbosity_of(const OptionValues& values);

}  // namespace routepack::cli
