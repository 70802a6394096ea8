// `routepack plan`: window in, plan file and policy table out.
#include <fmt/format.h>

#include <utility>

#include "base/clock.hpp"
#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/plan_options.hpp"
#include "cli/progress.hpp"
#include "comm/agreement.hpp"
#include "demand/load_window.hpp"
#include "domain/model.hpp"
#include "io/output_file.hpp"
#include "io/plan_file.hpp"
#include "io/window_reader.hpp"
#include "planner/plan_inputs.hpp"
#include "planner/planner.hpp"

namespace routepack::cli {
namespace {

// What a model preset decides, where the user named one and did not say otherwise.
void apply_model(PlanRequest& request) {
  if (request.model.empty()) {
    return;
  }
  const domain::ModelPreset preset = domain::find_preset(request.model);
  PlanOptions& options = request.options;
  options.cost = domain::cost_of_model(preset, options.cost.capacity_tokens, options.topology);
  options.cost.expert_weight = request.expert_weight.value_or(options.cost.expert_weight);
  if (options.migration.bytes_per_expert == 0) {
    options.migration.bytes_per_expert = domain::bytes_per_expert(preset);
  }
}

PlanRequest resolved(const PlanRequest& asked, bool checks_output) {
  PlanRequest request = completed(asked);
  apply_model(request);
  if (checks_output && !request.out.empty()) {
    io::check_output_path(
        request.out, io::window_inputs(request.window)
    );  // before the work, not after
  }
  return request;
}

// Padding that a trainer with such parallel sizes needs: sequence parallelism splits a sample over
// tp ranks, context parallelism into 2*cp parts.
void warn_of_padding(const PlanOptions& options) {
  const auto warn = [&](int divisor, const char* what) {
    if (options.pad_multiple % divisor != 0) {
      base::report(
          "routepack: warning: --pad-multiple {} is no multiple of {} ({}): the trainer may pad "
          "samples further than planned\n",
          options.pad_multiple, divisor, what
      );
    }
  };
  const Topology& topology = options.topology;
  if (topology.tp > 1) {
    warn(topology.tp, "tp, with sequence parallelism");
  }
  if (topology.cp > 1) {
    warn(2 * topology.cp, "2 * cp");
  }
}

void check_window(const PlanRequest& request, const WindowShape& window) {
  if (!request.model.empty()) {
    domain::check_model_of_window(domain::find_preset(request.model), window);
  }
}

void run_plan(const PlanRequest& asked, const comm::Communicator& comm) {
  PlanRequest request = comm::agree_on([&] { return resolved(asked, comm.is_root()); }, comm);
  comm::agree_on_inputs(
      planner::evidence_of(request.options), comm
  );  // the files that options name, too
  const base::Verbosity verbosity = request.common.verbosity();
  const base::Log log(verbosity, comm.is_root());
  if (comm.is_root()) {
    warn_of_padding(request.options);
  }
  const WindowSlice slice = demand::load_window(
      request.window, comm, [&](const WindowShape& window) { check_window(request, window); }
  );
  ProgressPrinter printer(
      progress_style(comm.is_root(), verbosity, request.common.progress, stderr_is_terminal())
  );
  const PlanObserver observer{
      [&printer](const SearchProgress& progress) { printer.show(progress); },
      [&log](const std::string& line) { log.detail("{}", line); }};
  const planner::PlanRun run{{}, base::seconds_since_process_start()};
  const Plan plan = planner::make_plan(slice, request.options, run, comm.get(), observer);
  comm::agree_on(
      [&] {
        if (comm.is_root() && !request.out.empty()) {
          io::write_plan(request.out, plan);
        }
      },
      comm
  );
  if (comm.is_root() && verbosity != base::Verbosity::kQuiet) {
    print_output("{}", plan_table(plan));
  }
}

}  // namespace

Command plan_command() { return make_command(plan_options, run_plan); }

}  // namespace routepack::cli
