// routepack place DEMAND.npy --ep R: expert placement alone, on aggregate demand.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <vector>

#include "base/check.hpp"
#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/plan_options.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "io/input_file.hpp"
#include "io/npy.hpp"
#include "io/output_file.hpp"
#include "io/plan_file.hpp"
#include "placement/aggregate/place_experts.hpp"
#include "planner/budget.hpp"
#include "planner/plan_inputs.hpp"

namespace routepack::cli {
namespace {

struct PlaceRequest {
  CommonOptions common;
  std::string demand;  // .npy
  int ep = 1;
  std::string current_placement;  // file; empty: none
  std::string out;                // empty: standard output
  std::uint64_t seed = 1;
  int num_threads = 0;  // 0: the node's cores divided by its ranks
};

OptionTable place_options(PlaceRequest& request) {
  OptionTable table(
      "place", "Places experts on EP ranks by their aggregate demand, [MoE layers, experts] pairs.",
      request.common
  );
  table.positional("DEMAND.npy", request.demand);
  table.number("ep", "R", request.ep, {1, 1 << 16}, "expert-parallel ranks", {.required = true});
  table.text(
      "current-placement", "FILE", request.current_placement,
      "where the experts are now: a placement file, or a plan; as few as possible move for the "
      "same peaks",
      {.across_ranks = AcrossRanks::kGivenOrNot}
  );
  table.text(
      "out,o", "FILE", request.out,
      "the placement to write (JSON); standard output where not given",
      {.across_ranks = AcrossRanks::kOutput}
  );
  add_seed(table, request.seed);
  add_threads(table, request.num_threads);
  return table;
}

struct DemandFile {
  std::vector<std::int64_t> pairs;  // [num_layers, num_experts]
  int num_layers = 0;
  int num_experts = 0;
};

DemandFile read_demand(const std::string& path) {
  constexpr std::int64_t kMaxAxis = 1 << 16;  // of layers as of experts
  const io::FileCopy file(path);
  const io::NpyView view = io::view_npy(file.bytes(), path);
  RP_CHECK(
      view.shape.size() == 2, ErrorCode::kFileMalformed,
      "{} has the shape {}, expected [MoE layers, experts]", path, io::shape_text(view.shape)
  );
  for (const std::int64_t size : view.shape) {
    RP_CHECK(
        size <= kMaxAxis, ErrorCode::kNumberOutOfRange,
        "{} has the shape {}, at most {} layers and experts fit", path, io::shape_text(view.shape),
        kMaxAxis
    );
  }
  return {io::read_int64(view), static_cast<int>(view.shape[0]), static_cast<int>(view.shape[1])};
}

// The ranks may have read files of their own.
void agree_on_problem(const placement::PlacementProblem& problem, const comm::Communicator& comm) {
  comm::agree_on_inputs(
      {{"the shape of the demand",
        fmt::format("({}, {})", problem.num_layers, problem.num_experts)}},
      comm
  );
  comm::agree_on_numbers("the demand", "entry", problem.demand, comm);
  if (problem.current != nullptr) {
    comm::agree_on_inputs({planner::evidence_of(*problem.current, "the current placement")}, comm);
  }
}

// {"placement": [[slot of expert] …], "peak": […], "lower_bound": […], "moved_experts": n}, a layer
// of the placement a line.
std::string placement_text(const placement::PlacementResult& result) {
  std::string layers;
  for (const std::string& layer : io::layer_texts(result.placement, ", ")) {
    layers += fmt::format("{}\n  {}", layers.empty() ? "" : ",", layer);
  }
  return fmt::format(
      "{{\"placement\": [{}\n ],\n \"peak\": [{}],\n \"lower_bound\": [{}],\n "
      "\"moved_experts\": {}}}\n",
      layers, fmt::join(result.peak, ", "), fmt::join(result.lower_bound, ", "),
      result.moved_experts
  );
}

void write_text(const std::string& path, const std::string& text) {
  io::AtomicFile file(path);
  file.write(text);
  file.commit();
}

void run_place(const PlaceRequest& request, const comm::Communicator& comm) {
  const std::string& out = request.out;
  std::optional<Placement> current;
  const DemandFile demand = comm::agree_on(
      [&] {
        if (comm.is_root() && !out.empty()) {
          io::check_output_path(out, {request.demand});
        }
        return read_demand(request.demand);
      },
      comm
  );
  placement::PlacementProblem problem{
      demand.pairs, demand.num_layers, demand.num_experts, request.ep};
  comm::agree_on(
      [&] {
        placement::validate_problem(problem);
        if (!request.current_placement.empty()) {
          current = io::read_placement(request.current_placement, request.ep);
          problem.current = &*current;
        }
      },
      comm
  );
  agree_on_problem(problem, comm);
  const placement::PlaceEffort effort{
      .num_threads = planner::choose_threads(request.num_threads, comm.split_by_node())};
  const placement::PlacementResult result =
      placement::place_experts(problem, effort, request.seed, comm);
  const std::string text = placement_text(result);
  if (comm::broadcast_value(out.empty(), 0, comm)) {
    if (comm.is_root()) {
      print_output("{}", text);
    }
    return;
  }
  comm::agree_on([&] { comm.is_root() ? write_text(out, text) : void(); }, comm);
  if (comm.is_root() && request.common.verbosity() != base::Verbosity::kQuiet) {
    int proven = 0;
    for (const MoeLayer layer : ids<MoeLayer>(demand.num_layers)) {
      proven += result.peak[layer] == result.lower_bound[layer] ? 1 : 0;
    }
    print_output(
        "{{\"moe_layers\": {}, \"experts\": {}, \"proven_optimal_layers\": {}, \"moved_experts\": "
        "{}}}\n",
        demand.num_layers, demand.num_experts, proven, result.moved_experts
    );
  }
}

}  // namespace

Command place_command() { return make_command(place_options, run_place); }

}  // namespace routepack::cli
