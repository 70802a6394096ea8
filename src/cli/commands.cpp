#include "cli/command.hpp"

namespace routepack::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> kCommands = {
      plan_command(), demand_command(), place_command(), synth_command(), shuffle_check_command()};
  return kCommands;
}

}  // namespace routepack::cli
