// routepack demand WINDOW --out FILE.npy: counts and all-reduces routing demand.
#include <cstdio>
#include <span>

#include "base/check.hpp"
#include "cli/command.hpp"
#include "cli/output.hpp"
#include "comm/agreement.hpp"
#include "demand/load_window.hpp"
#include "demand/reduce.hpp"
#include "io/npy.hpp"
#include "io/output_file.hpp"
#include "io/window_reader.hpp"

namespace routepack::cli {
namespace {

struct DemandRequest {
  CommonOptions common;
  std::string window;  // the folder
  std::string out;     // .npy
};

OptionTable demand_options(DemandRequest& request) {
  OptionTable table(
      "demand", "Counts the routed (token, expert) pairs of every MoE layer and expert.",
      request.common
  );
  table.positional("WINDOW", request.window);
  table.text(
      "out,o", "FILE", request.out, "the int64 array [MoE layers, experts] to write (.npy)",
      {.required = true, .across_ranks = AcrossRanks::kOutput}
  );
  return table;
}

void write_demand(const std::string& path, const domain::Demand& demand) {
  io::write_npy(
      path, std::span<const std::int64_t>(demand.pairs), {demand.num_layers, demand.num_experts}
  );
}

void run_demand(const DemandRequest& request, const comm::Communicator& comm) {
  comm::agree_on(
      [&] {
        if (comm.is_root()) {
          io::check_output_path(request.out, io::window_inputs(request.window));
        }
      },
      comm
  );
  const WindowSlice slice = demand::load_window(request.window, comm);
  const domain::WindowDemand window = demand::reduce_demand(slice, comm);
  comm::agree_on([&] { comm.is_root() ? write_demand(request.out, window.demand) : void(); }, comm);
  if (comm.is_root()) {
    print_output(
        "{{\"samples\": {}, \"tokens\": {}, \"unrouted_tokens\": {}, \"moe_layers\": {}, "
        "\"experts\": {}}}\n",
        window.num_samples, window.total_tokens, window.unrouted_tokens,
        slice.shape.num_moe_layers(), slice.shape.num_experts
    );
  }
}

}  // namespace

Command demand_command() { return make_command(demand_options, run_demand); }

}  // namespace routepack::cli
