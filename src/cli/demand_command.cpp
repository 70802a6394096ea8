// routepack demand WINDOW --out FILE.npy: counts and all-reduces routing demand.
#include <cstdio>
#include <span>
#include <vector>

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

void write_demand(const std::string& path, const WindowDemand& window, const WindowShape& shape) {
  std::vector<std::int64_t> flat;
  for (const ExpertDemand& layer : window.demand) {
    flat.insert(flat.end(), layer.begin(), layer.end());
  }
  write_npy(path, std::span<const std::int64_t>(flat), {shape.num_moe_layers(), shape.num_experts});
}

void run_demand(const OptionValues& values, const Communicator& comm) {
  const std::string& out = values.text("out");
  agree_on(
      [&] {
        if (comm.is_root()) {
          check_output_path(out, window_inputs(values.positional()));
        }
      },
      comm
  );
  const WindowSlice slice = load_window(values.positional(), comm);
  const WindowDemand window = reduce_demand(slice, comm);
  agree_on([&] { comm.is_root() ? write_demand(out, window, slice.shape) : void(); }, comm);
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

Command demand_command() {
  return {
      {.name = "demand",
       .positional = "WINDOW",
       .summary = "Counts the routed (token, expert) pairs of every MoE layer and expert.",
       .options =
           {{.name = "out,o",
             .value_name = "FILE",
             .help = "the int64 array [MoE layers, experts] to write (.npy)",
             .required = true,
             .across_ranks = AcrossRanks::kFree}}},
      run_demand};
}

}  // namespace routepack::cli
