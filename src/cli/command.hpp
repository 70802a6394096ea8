// A subcommand: what it accepts and what it does.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cli/option_table.hpp"
#include "comm/communicator.hpp"

namespace routepack::cli {

struct Command {
  OptionTable options;  // bound to what `run` keeps
  // Collective, after the options were parsed. Throws the same Error on every rank, or none.
  std::function<void(const comm::Communicator& comm)> run;
};

// The command whose options are bound to a Request of its own, and which runs on that.
template <class Request>
[[nodiscard]] Command make_command(
    OptionTable (*options_of)(Request& request),
    void (*run)(const Request& request, const comm::Communicator& comm)
) {
  const auto request = std::make_shared<Request>();
  return {options_of(*request), [request, run](const comm::Communicator& comm) {
            run(*request, comm);
          }};
}

[[nodiscard]] Command demand_command();
[[nodiscard]] Command place_command();
[[nodiscard]] Command plan_command();
[[nodiscard]] Command synth_command();
[[nodiscard]] Command shuffle_check_command();

// Every subcommand, in the order of --help, with options that nobody has set yet.
[[nodiscard]] inline std::vector<Command> commands() {
  return {
      plan_command(), demand_command(), place_command(), synth_command(), shuffle_check_command()};
}

}  // namespace routepack::cli
