// The options of `plan`, and those that other commands share with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/option_table.hpp"
#include "routepack/options.hpp"

namespace routepack::cli {

// What the options of `plan` set.
struct PlanRequest {
  CommonOptions common;
  std::string window;                   // the folder
  std::string out;                      // plan file; empty: none is written
  std::string model;                    // preset that gives the attention stages; empty: see below
  AttentionStage only_stage;            // --alpha and --beta
  std::vector<AttentionStage> stages;   // in its place
  std::optional<double> expert_weight;  // not given: 1, or the model's
  double gap_percent = 0.0;
  std::string current_placement;  // file; empty: none
  PlanOptions options;
};

// `request` must outlive the table.
[[nodiscard]] OptionTable plan_options(PlanRequest& request);

// With the plan options that several of the command's options decide together, or a file: stages,
// expert weight, gap and current placement. Throws USAGE for two stages of one name,
// TOPOLOGY_MISMATCH, NUMBER_OUT_OF_RANGE, and the errors of read_placement.
[[nodiscard]] PlanRequest completed(PlanRequest request);

// Those of any command that searches.
void add_seed(OptionTable& table, std::uint64_t& seed);
void add_threads(OptionTable& table, int& num_threads);

}  // namespace routepack::cli
