#include "planner/migration.hpp"

#include <algorithm>
#include <cmath>

#include "base/parallel_errors.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "planner/block_demand.hpp"
#include "planner/effort.hpp"

namespace routepack {
namespace {

// A trajectory as plain numbers, for the gather: layer, objective, free objective and moves, the
// free slots, then every path behind its length.
void pack_trajectory(
    MoeLayer layer, const SwapTrajectory& trajectory, std::vector<std::int64_t>& words
) {
  words.insert(
      words.end(), {layer.value(), trajectory.objective, trajectory.free_objective,
                    trajectory.free_moved_experts}
  );
  for (const SlotId slot : trajectory.free_slots) {
    words.push_back(slot.value());
  }
  words.push_back(std::ssize(trajectory.paths));
  for (const SwapPath& path : trajectory.paths) {
    words.push_back(std::ssize(path));
    for (const SwapStep& step : path) {
      words.insert(
          words.end(), {step.a.value(), step.b.value(), step.objective, step.moved_experts}
      );
    }
  }
}

class TrajectoryReader {
 public:
  explicit TrajectoryReader(const std::vector<std::int64_t>& words) : words_(words) {}
  [[nodiscard]] bool done() const { return next_ == words_.size(); }
  [[nodiscard]] std::int64_t word() { return words_[next_++]; }
  [[nodiscard]] std::int32_t id() { return static_cast<std::int32_t>(word()); }

 private:
  const std::vector<std::int64_t>& words_;
  std::size_t next_ = 0;
};

SwapTrajectory unpack_trajectory(TrajectoryReader& reader, int num_experts) {
  SwapTrajectory trajectory;
  trajectory.objective = reader.word();
  trajectory.free_objective = reader.word();
  trajectory.free_moved_experts = reader.word();
  for (int expert = 0; expert < num_experts; ++expert) {
    trajectory.free_slots.push_back(SlotId{reader.id()});
  }
  const std::int64_t num_paths = reader.word();
  for (std::int64_t path = 0; path < num_paths; ++path) {
    const std::int64_t num_steps = reader.word();
    SwapPath& steps = trajectory.paths.emplace_back();
    for (std::int64_t step = 0; step < num_steps; ++step) {
      SwapStep swap;
      swap.a = ExpertId{reader.id()};
      swap.b = ExpertId{reader.id()};
      swap.objective = reader.word();
      swap.moved_experts = reader.word();
      steps.push_back(swap);
    }
  }
  return trajectory;
}

}  // namespace

MigrationTerms migration_terms(const PlanOptions& options, const WindowShape& window) {
  const MigrationOptions& asked = options.migration;
  const std::int64_t all = std::int64_t{window.num_moe_layers()} * window.num_experts;
  MigrationTerms terms;
  terms.max_moved = static_cast<std::int64_t>(
      std::floor(asked.max_moved_fraction * static_cast<double>(all) + 1e-9)
  );
  if (options.cost.expert_weight > 0.0) {
    terms.price_pairs = asked.cost_per_expert / static_cast<double>(asked.horizon_steps) *
                        static_cast<double>(options.cost.capacity_tokens) * options.topology.edp() /
                        options.cost.expert_weight;
  }
  if (options.cost.expert_weight <= 0.0 && asked.cost_per_expert > 0.0) {
    terms.max_moved = 0;  // nothing pays for a move
  }
  terms.is_free = terms.max_moved >= all && terms.price_pairs <= 0.0;
  return terms;
}

std::vector<std::int64_t> migration_budgets(const Placement& current, const MigrationTerms& terms) {
  std::vector<std::int64_t> budgets = front_budgets(current);
  std::erase_if(budgets, [&](std::int64_t budget) { return budget > terms.max_moved; });
  constexpr int kSteps = 40;  // of the price's scale
  if (terms.price_pairs > 0.0) {
    for (int step = 1; step <= kSteps; ++step) {
      budgets.push_back(terms.max_moved * step / kSteps);
    }
  }
  budgets.push_back(terms.max_moved);
  std::sort(budgets.begin(), budgets.end());
  budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
  return budgets;
}

const MigrationChoice& cheapest(
    const std::vector<MigrationChoice>& choices, const MigrationTerms& terms
) {
  const auto cost = [&](const MigrationChoice& choice) {
    return static_cast<double>(choice.objective) +
           terms.price_pairs * static_cast<double>(choice.moved_experts);
  };
  const auto better = [&](const MigrationChoice& x, const MigrationChoice& y) {
    return cost(x) != cost(y) ? cost(x) < cost(y) : x.moved_experts < y.moved_experts;
  };
  return *std::min_element(choices.begin(), choices.end(), better);
}

Placement migration_for_demand(
    const std::vector<std::int64_t>& demand,
    const Placement& current,
    const PlanOptions& options,
    const MigrationTerms& terms
) {
  const auto experts = static_cast<std::size_t>(current.num_experts);
  IndexVector<MoeLayer, SwapTrajectory> trajectories{current.layers.size()};
  for (const MoeLayer layer : ids<MoeLayer>(current.layers.size())) {
    const Stream random{
        options.search.seed, Purpose::kPlacement, static_cast<std::uint32_t>(layer.value())};
    trajectories[layer] = peak_trajectory(
        std::span{demand}.subspan(layer.offset() * experts, experts), current.ep,
        current.layers[layer], {.num_threads = 1}, random
    );
  }
  return cheapest(
             choose_migrations(trajectories, current, migration_budgets(current, terms)), terms
  )
      .placement;
}

namespace {

std::vector<SwapTrajectory> trace_layers(
    const std::vector<LayerBlocks>& layers,
    int num_blocks,
    const Placement& current,
    const PlanOptions& options,
    int num_threads
) {
  std::vector<SwapTrajectory> trajectories(layers.size());
  ParallelErrors errors(layers.size());
  const SimdLevel simd = choose_simd(options.search);
  const auto count = static_cast<std::int32_t>(layers.size());
#pragma omp parallel for schedule(dynamic) num_threads(num_threads)
  for (std::int32_t n = 0; n < count; ++n) {
    const auto at = static_cast<std::size_t>(n);
    errors.run(at, [&] {
      const MoeLayer layer = layers[at].layer;
      const Stream random{
          options.search.seed, Purpose::kPlacement, static_cast<std::uint32_t>(layer.value())};
      trajectories[at] = row_trajectory(
          layers[at].demand, num_blocks, options.topology.ep, current.layers[layer],
          {.num_threads = 1}, random, simd
      );
    });
  }
  errors.rethrow_first();
  return trajectories;
}

}  // namespace

std::vector<MigrationChoice> migrations_for_layout(
    const WindowSlice& slice,
    const CellLayout& layout,
    const Placement& current,
    const PlanOptions& options,
    const std::vector<std::int64_t>& budgets,
    int num_threads,
    const Communicator& comm
) {
  const std::vector<LayerBlocks> mine = reduce_block_demand(slice, layout, options.topology, comm);
  const int num_blocks = layout.num_rows * options.topology.edp();
  const std::vector<SwapTrajectory> local =
      agree_on([&] { return trace_layers(mine, num_blocks, current, options, num_threads); }, comm);
  std::vector<std::int64_t> words;
  for (std::size_t at = 0; at < mine.size(); ++at) {
    pack_trajectory(mine[at].layer, local[at], words);
  }
  const std::vector<std::int64_t> all = all_gather(words, comm);
  IndexVector<MoeLayer, SwapTrajectory> trajectories{current.layers.size()};
  TrajectoryReader reader(all);
  while (!reader.done()) {
    const MoeLayer layer{reader.id()};
    trajectories[layer] = unpack_trajectory(reader, current.num_experts);
  }
  return choose_migrations(trajectories, current, budgets);
}

}  // namespace routepack
