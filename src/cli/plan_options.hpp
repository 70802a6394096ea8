// The options of `plan`, and of the other commands that plan.
#pragma once

#include <string>
#include <vector>

#include "base/log.hpp"
#include "cli/option_table.hpp"
#include "routepack/options.hpp"

namespace routepack::cli {

struct PlanRequest {
  std::string window;  // the folder
  std::string out;     // plan file; empty: none is written
  std::string model;   // preset that gives the attention stages; empty: options.cost has them
  PlanOptions options;
  Verbosity verbosity = Verbosity::kNormal;
  bool progress = false;  // even where stderr is no terminal
};

// Parts of the option table, to be joined by commands.
[[nodiscard]] std::vector<Option> topology_options();
[[nodiscard]] std::vector<Option> cost_options();
[[nodiscard]] std::vector<Option> search_options();
// Those of any command that searches.
[[nodiscard]] Option seed_option();
[[nodiscard]] Option threads_option();
[[nodiscard]] std::vector<Option> migration_options();

[[nodiscard]] CommandSpec plan_spec();

// Reads the file of --current-placement. Throws USAGE for values that are no stages,
// TOPOLOGY_MISMATCH, and the errors of read_placement.
[[nodiscard]] PlanRequest plan_request(const OptionValues& values);

}  // namespace routepack::cli
