// `routepack plan`: window in, plan file and policy table out.
#include <fmt/format.h>

#include "base/process_time.hpp"
#include "cli/command.hpp"
#include "cli/plan_options.hpp"
#include "cli/plan_table.hpp"
#include "cli/progress.hpp"
#include "comm/agreement.hpp"
#include "demand/load_window.hpp"
#include "domain/model_cost.hpp"
#include "io/atomic_file.hpp"
#include "io/plan_writer.hpp"
#include "io/window_names.hpp"
#include "routepack/planner.hpp"

namespace routepack::cli {
namespace {

// What a model preset decides, where the user named one.
void apply_model(PlanRequest& request) {
  if (request.model.empty()) {
    return;
  }
  const ModelPreset preset = find_preset(request.model);
  PlanOptions& options = request.options;
  options.cost.stages = stages_of_model(preset, options.cost.capacity_tokens, options.topology);
  if (options.migration.bytes_per_expert == 0) {
    options.migration.bytes_per_expert = bytes_per_expert(preset);
  }
}

PlanRequest request_of(const OptionValues& values, bool checks_output) {
  PlanRequest request = plan_request(values);
  apply_model(request);
  if (checks_output && !request.out.empty()) {
    check_output_path(request.out, window_inputs(request.window));  // before the work, not after
  }
  return request;
}

void run_plan(const OptionValues& values, const Communicator& comm) {
  PlanRequest request = agree_on([&] { return request_of(values, comm.is_root()); }, comm);
  const Log log(request.verbosity, comm.is_root());
  const WindowSlice slice = load_window(request.window, comm);
  ProgressPrinter printer(
      progress_style(comm.is_root(), request.verbosity, request.progress, stderr_is_terminal())
  );
  const PlanObserver observer{
      [&printer](const SearchProgress& progress) { printer.show(progress); },
      [&log](const std::string& line) { log.detail("{}", line); }};
  request.options.search.seconds_spent = seconds_since_process_start();
  const Plan plan = make_plan(slice, request.options, comm.get(), observer);
  agree_on(
      [&] {
        if (comm.is_root() && !request.out.empty()) {
          write_plan(request.out, plan);
        }
      },
      comm
  );
  if (comm.is_root() && request.verbosity != Verbosity::kQuiet) {
    fmt::print("{}", plan_table(plan));
  }
}

}  // namespace

Command plan_command() { return {plan_spec(), run_plan}; }

}  // namespace routepack::cli
