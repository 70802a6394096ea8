// Where a plan's gap to the bounds on max_shard lies. One rank; attention stage "full" with alpha
// 100, beta 50.
//   usage: gap_bench WINDOW DP EP CAPACITY [SWEEPS]
// Everything is a sum over (row, shard), in percent of the lower bound's such sum, so that the
// parts of the gap add up to it.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "bench/mpi_bench.hpp"
#include "demand/load_window.hpp"
#include "demand/reduce.hpp"
#include "objective/bound.hpp"
#include "objective/evaluate.hpp"
#include "packing/lengths.hpp"
#include "placement/aggregate/bounds.hpp"
#include "placement/aggregate/place_experts.hpp"
#include "planner/block_placement.hpp"
#include "routepack/planner.hpp"

namespace routepack {
namespace {

struct Job {
  const WindowSlice& window;
  PlanOptions options;
  const comm::Communicator& comm;

  [[nodiscard]] packing::PaddedLengths padded() const {
    return packing::pad_lengths(window.lengths, 1, options.cost.capacity_tokens);
  }
  // Pairs on peak EP ranks as cost.
  [[nodiscard]] double cost_of(std::int64_t pairs) const {
    return options.cost.expert_weight * static_cast<double>(pairs) /
           static_cast<double>(options.cost.capacity_tokens);
  }
};

// Attention of a plan: blocks as they are, its cells in the order of their costs, and the bounds.
struct AttentionParts {
  double mean = 0.0;
  double bound = 0.0;
  double sorted_cells = 0.0;
  double blocks = 0.0;
};

AttentionParts attention_parts(const Job& job, const Plan& plan) {
  const packing::PaddedLengths padded = job.padded();
  const AttentionStage& stage = job.options.cost.stages.front();
  const auto capacity = static_cast<double>(job.options.cost.capacity_tokens);
  const objective::CellSums sums = objective::sum_cells(plan.layout, padded);
  std::vector<double> cells;
  for (const CellId cell : ids<CellId>(sums.tokens.size())) {
    cells.push_back(
        stage.alpha * static_cast<double>(sums.tokens[cell]) / capacity +
        stage.beta * static_cast<double>(sums.squared_tokens[cell]) / capacity / capacity
    );
  }
  const int per_shard = job.options.topology.dp_per_shard();
  AttentionParts parts;
  parts.mean = std::accumulate(cells.begin(), cells.end(), 0.0) / per_shard;
  parts.bound = objective::attention_lower_bound(
                    padded, stage, {plan.layout.num_cells(), per_shard},
                    domain::cell_rules(job.options, plan.window.top_k)
  )
                    .cost;
  parts.blocks = plan.routepack.attention;
  std::sort(cells.begin(), cells.end(), std::greater<>());
  for (std::size_t first = 0; first < cells.size(); first += static_cast<std::size_t>(per_shard)) {
    parts.sorted_cells += cells[first];
  }
  return parts;
}

// Peaks of a plan and of the window, in pairs, summed over layers.
struct PeakParts {
  std::int64_t mean_load = 0;    // the window's mean EP rank or hottest expert
  std::int64_t bound = 0;        // on the aggregate's peaks
  std::int64_t placed = 0;       // the aggregate's peaks as placed for it
  std::int64_t aggregate = 0;    // the aggregate's peaks under the plan's placement
  std::int64_t blocks = 0;       // Σ of the blocks' peaks
  std::int64_t block_bound = 0;  // Σ of bounds of every block alone, with a placement of its own
};

std::int64_t block_bounds(
    const planner::LayerBlocks& layer, std::size_t num_blocks, int num_experts, int ep
) {
  const std::size_t padded = layer.demand.size() / static_cast<std::size_t>(num_experts);
  std::vector<std::int64_t> demand(static_cast<std::size_t>(num_experts));
  std::int64_t bounds = 0;
  for (std::size_t block = 0; block < num_blocks; ++block) {
    for (std::size_t expert = 0; expert < demand.size(); ++expert) {
      demand[expert] = layer.demand[expert * padded + block];
    }
    bounds += placement::peak_lower_bound(demand, ep);
  }
  return bounds;
}

// What is known without a plan: mean loads, bounds, and the aggregate's own placement.
PeakParts aggregate_parts(const Job& job) {
  const WindowShape& shape = job.window.shape;
  const int ep = job.options.topology.ep;
  PeakParts parts;
  const domain::Demand demand = demand::reduce_demand(job.window, job.comm).demand;
  for (const MoeLayer layer : ids<MoeLayer>(demand.num_layers)) {
    const std::span<const std::int64_t> pairs = demand.of(layer);
    const std::int64_t total = std::accumulate(pairs.begin(), pairs.end(), std::int64_t{0});
    parts.mean_load += std::max(
        base::ceil_divide(total, std::int64_t{ep}), *std::max_element(pairs.begin(), pairs.end())
    );
  }
  const placement::PlacementResult placed = placement::place_experts(
      {demand.pairs, shape.num_moe_layers(), shape.num_experts, ep}, {}, job.options.search.seed,
      job.comm
  );
  for (const MoeLayer layer : ids<MoeLayer>(placed.peak.size())) {
    parts.bound += placed.lower_bound[layer];
    parts.placed += placed.peak[layer];
  }
  return parts;
}

PeakParts peak_parts(const Job& job, const Plan& plan) {
  const Topology& topology = job.options.topology;
  const auto ep = static_cast<std::size_t>(topology.ep);
  const auto layers = static_cast<std::size_t>(job.window.shape.num_moe_layers());
  PeakParts parts = aggregate_parts(job);
  const std::vector<std::int64_t> loads =
      objective::sum_block_loads(job.window, plan.layout, plan.placement, topology);
  std::vector<std::int64_t> window_loads(layers * ep, 0);
  for (std::size_t at = 0; at < loads.size(); ++at) {
    window_loads[at % window_loads.size()] += loads[at];
  }
  for (std::size_t at = 0; at < loads.size(); at += ep) {
    parts.blocks += *std::max_element(&loads[at], &loads[at] + ep);
  }
  for (std::size_t at = 0; at < window_loads.size(); at += ep) {
    parts.aggregate += *std::max_element(&window_loads[at], &window_loads[at] + ep);
  }
  const std::size_t num_blocks = loads.size() / window_loads.size();
  for (const planner::LayerBlocks& layer :
       planner::reduce_block_demand(job.window, plan.layout, topology, job.comm)) {
    parts.block_bound += block_bounds(layer, num_blocks, job.window.shape.num_experts, topology.ep);
  }
  return parts;
}

double max_shard_of(Job job, double alpha, double beta, double expert_weight) {
  job.options.cost.stages.front().alpha = alpha;
  job.options.cost.stages.front().beta = beta;
  job.options.cost.expert_weight = expert_weight;
  return make_plan(job.window, job.options, job.comm.get()).objective.max_shard;
}

void print_parts(const Job& job, const std::string& name) {
  const Plan plan = make_plan(job.window, job.options, job.comm.get());
  const AttentionParts attention = attention_parts(job, plan);
  const PeakParts peaks = peak_parts(job, plan);
  const AttentionStage& stage = job.options.cost.stages.front();
  const int edp = job.options.topology.edp();
  const double bound = plan.lower_bound.max_shard * edp;
  const auto percent = [&](double part) { return 100.0 * part / bound; };
  const auto pairs = [&](std::int64_t more, std::int64_t less) {
    return percent(job.cost_of(more - less));
  };
  fmt::print(
      "{}: {} rows, {} blocks, {} chains, {} sweeps, bound {:.4f} ({}), gap {:.3f} %\n", name,
      plan.rows.num_rows, plan.rows.num_rows * edp, plan.search.num_chains, plan.search.num_sweeps,
      plan.lower_bound.max_shard, plan.lower_bound.kind, 100.0 * plan.gap()
  );
  fmt::print(
      "  bound over the mean-load bound: attention {:.3f}, experts {:.3f}\n",
      percent(attention.bound - attention.mean), pairs(peaks.bound, peaks.mean_load)
  );
  fmt::print(
      "  attention ({:.1f} of the bound): cells {:.3f}, order of cells {:.3f}\n",
      percent(attention.bound), percent(attention.sorted_cells - attention.bound),
      percent(attention.blocks - attention.sorted_cells)
  );
  fmt::print(
      "  experts: aggregate {:.3f} (placed for it {:.3f}), blocks {:.3f}; bounds of single blocks "
      "{:.3f}\n",
      pairs(peaks.aggregate, peaks.bound), pairs(peaks.placed, peaks.bound),
      pairs(peaks.blocks, peaks.aggregate), pairs(peaks.block_bound, peaks.bound)
  );
  fmt::print(
      "  imbalance of shards: {:.3f}\n",
      percent(plan.objective.max_shard * edp - plan.objective.sum_shards)
  );
  fmt::print(
      "  searched alone: attention {:.3f}, experts {:.3f}\n",
      percent(max_shard_of(job, stage.alpha, stage.beta, 0.0) * edp - attention.bound),
      percent(max_shard_of(job, 0.0, 0.0, 1.0) * edp - job.cost_of(peaks.bound))
  );
}

int run(int argc, char** argv, const comm::Communicator& comm) {
  if (argc < 5 || argc > 6 || comm.num_mpi_ranks() > 1) {
    fmt::print(stderr, "usage: gap_bench WINDOW DP EP CAPACITY [SWEEPS], on one rank\n");
    return 2;
  }
  const std::string folder = argv[1];
  const WindowSlice window = demand::load_window(folder, comm);
  Job job{window, {}, comm};
  job.options.topology = {.dp = std::stoi(argv[2]), .ep = std::stoi(argv[3])};
  job.options.cost = {std::stoll(argv[4]), {{"full", 100.0, 50.0}}, 1.0};
  job.options.search.num_chains = 1;
  job.options.search.num_sweeps = argc > 5 ? std::stoll(argv[5]) : 0;
  print_parts(job, folder.substr(folder.find_last_of('/') + 1));
  return 0;
}

}  // namespace
}  // namespace routepack

int main(int argc, char** argv) {
  return routepack::testing::run_mpi_bench(argc, argv, routepack::run);
}
