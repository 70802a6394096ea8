#include "planner/migration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/clock.hpp"
#include "comm/dealt.hpp"
#include "placement/moving/priced_search.hpp"
#include "planner/budget.hpp"

namespace routepack::planner {

namespace {

// A trajectory as plain numbers, for the other ranks: objective, free objective and moves, the free
// slots, then every path behind its length.
std::vector<std::int64_t> pack_trajectory(const placement::SwapTrajectory& trajectory) {
  std::vector<std::int64_t> words = {
      trajectory.objective, trajectory.free_objective, trajectory.free_moved_experts};
  for (const SlotId slot : trajectory.free_slots) {
    words.push_back(slot.value());
  }
  words.push_back(std::ssize(trajectory.paths));
  for (const placement::SwapPath& path : trajectory.paths) {
    words.push_back(std::ssize(path));
    for (const placement::SwapStep& step : path) {
      words.insert(
          words.end(), {step.a.value(), step.b.value(), step.objective, step.moved_experts}
      );
    }
  }
  return words;
}

placement::SwapTrajectory unpack_trajectory(
    const std::vector<std::int64_t>& words, int num_experts
) {
  auto next = words.begin();
  const auto word = [&] { return *next++; };
  const auto id = [&] { return static_cast<std::int32_t>(word()); };
  placement::SwapTrajectory trajectory;
  trajectory.objective = word();
  trajectory.free_objective = word();
  trajectory.free_moved_experts = word();
  for (int expert = 0; expert < num_experts; ++expert) {
    trajectory.free_slots.push_back(SlotId{id()});
  }
  const std::int64_t num_paths = word();
  for (std::int64_t path = 0; path < num_paths; ++path) {
    const std::int64_t num_steps = word();
    placement::SwapPath& steps = trajectory.paths.emplace_back();
    for (std::int64_t step = 0; step < num_steps; ++step) {
      placement::SwapStep swap;
      swap.a = ExpertId{id()};
      swap.b = ExpertId{id()};
      swap.objective = word();
      swap.moved_experts = word();
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

std::vector<std::int64_t> migration_budgets(
    const Placement& current, const MigrationTerms& terms, const domain::Tuning::Migration& tuning
) {
  std::vector<std::int64_t> budgets = placement::front_budgets(current);
  std::erase_if(budgets, [&](std::int64_t budget) { return budget > terms.max_moved; });
  if (terms.price_pairs > 0.0) {
    for (int step = 1; step <= tuning.price_steps; ++step) {
      budgets.push_back(terms.max_moved * step / tuning.price_steps);
    }
  }
  budgets.push_back(terms.max_moved);
  std::sort(budgets.begin(), budgets.end());
  budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
  return budgets;
}

const placement::MigrationChoice& cheapest(
    const std::vector<placement::MigrationChoice>& choices, const MigrationTerms& terms
) {
  const auto cost = [&](const placement::MigrationChoice& choice) {
    return static_cast<double>(choice.objective) +
           terms.price_pairs * static_cast<double>(choice.moved_experts);
  };
  const auto better = [&](const placement::MigrationChoice& x,
                          const placement::MigrationChoice& y) {
    return cost(x) != cost(y) ? cost(x) < cost(y) : x.moved_experts < y.moved_experts;
  };
  return *std::min_element(choices.begin(), choices.end(), better);
}

LayoutMigration::LayoutMigration(
    const WindowSlice& slice,
    const CellLayout& layout,
    const PlanOptions& options,
    const domain::Tuning& tuning,
    int num_threads,
    const comm::Communicator& comm
)
    : options_(options),
      tuning_(tuning),
      current_(*options.current_placement),
      num_blocks_(layout.num_rows * options.topology.edp()),
      num_threads_(num_threads),
      comm_(comm),
      blocks_(reduce_block_demand(slice, layout, options.topology, comm)),
      mine_(blocks_.size()),
      all_(current_.layers.size()) {
  for_each_layer([&](const LayerBlocks& blocks, placement::SwapTrajectory& ways) {
    const LayerPlacement& home = current_.layers[blocks.layer];
    ways.objective =
        placement::BlockState{
            {blocks.demand, num_blocks_}, placement::ranks_of(home, current_.ep), current_.ep}
            .sum_peaks();
    ways.free_objective = ways.objective;
    ways.free_slots = home;
  });
  share();
}

void LayoutMigration::trace(double seconds) {
  const base::Stopwatch clock;
  for_each_layer([&](const LayerBlocks& blocks, placement::SwapTrajectory& ways) {
    if (clock.seconds() > seconds) {
      return;
    }
    const random::Stream random{
        options_.search.seed, random::Purpose::kPlacement,
        static_cast<std::uint32_t>(blocks.layer.value())};
    placement::SwapTrajectory traced = placement::block_trajectory(
        blocks.demand, num_blocks_, current_.ep, current_.layers[blocks.layer],
        {.tuning = tuning_.aggregate, .num_threads = 1}, random, choose_simd(options_.search),
        tuning_.moving
    );
    std::ranges::move(ways.paths, std::back_inserter(traced.paths));
    ways = std::move(traced);
  });
  share();
}

void LayoutMigration::search_near(const Placement& start, std::int64_t price, std::uint32_t round) {
  for_each_layer([&](const LayerBlocks& blocks, placement::SwapTrajectory& ways) {
    const auto owner = round * static_cast<std::uint32_t>(current_.layers.size()) +
                       static_cast<std::uint32_t>(blocks.layer.value());
    const random::Stream random{options_.search.seed, random::Purpose::kPerturbation, owner};
    std::ranges::move(
        placement::search_at_price(
            blocks.demand, num_blocks_, current_.ep,
            {current_.layers[blocks.layer], start.layers[blocks.layer], price, random,
             choose_simd(options_.search), tuning_.moving}
        ),
        std::back_inserter(ways.paths)
    );
  });
  share();
}

std::vector<placement::MigrationChoice> LayoutMigration::choose(
    std::span<const std::int64_t> budgets
) const {
  return placement::choose_migrations(all_, current_, budgets);
}

std::int64_t LayoutMigration::price_at(std::int64_t moved) const {
  const std::int64_t reach =
      std::max<std::int64_t>(moved * tuning_.migration.price_reach_percent / 100, 1);
  const std::array<std::int64_t, 2> around = {
      std::max<std::int64_t>(moved - reach, 0), moved + reach};
  const std::vector<placement::MigrationChoice> choices = choose(around);
  return std::max<std::int64_t>(
      (choices[0].objective - choices[1].objective) / (around[1] - around[0]), 1
  );
}

// Collective. visit(blocks, ways) for the layers of this rank; errors are agreed on.
template <class Visit>
void LayoutMigration::for_each_layer(const Visit& visit) {
  comm::for_each_dealt(
      all_.size(), num_threads_,
      [&](std::size_t position, std::size_t) { visit(blocks_[position], mine_[position]); }, comm_
  );
}

// What this rank found, to all.
void LayoutMigration::share() {
  std::vector<std::vector<std::int64_t>> mine;
  for (const placement::SwapTrajectory& trajectory : mine_) {
    mine.push_back(pack_trajectory(trajectory));
  }
  const std::vector<std::vector<std::int64_t>> all = comm::gather_dealt(all_.size(), mine, comm_);
  for (const MoeLayer layer : ids<MoeLayer>(all_.size())) {
    all_[layer] = unpack_trajectory(all[layer.offset()], current_.num_experts);
  }
}

}  // namespace routepack::planner
