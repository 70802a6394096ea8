#include "planner/layout_migration.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/clock.hpp"
#include "base/parallel.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "placement/moving/priced_search.hpp"
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

LayoutMigration::LayoutMigration(
    const WindowSlice& slice,
    const CellLayout& layout,
    const PlanOptions& options,
    int num_threads,
    const Communicator& comm
)
    : options_(options),
      current_(*options.current_placement),
      num_blocks_(layout.num_rows * options.topology.edp()),
      num_threads_(num_threads),
      comm_(comm),
      blocks_(reduce_block_demand(slice, layout, options.topology, comm)),
      mine_(blocks_.size()),
      all_(current_.layers.size()) {
  for_each_layer([&](const LayerBlocks& blocks, SwapTrajectory& ways) {
    const LayerPlacement& home = current_.layers[blocks.layer];
    ways.objective =
        BlockState{{blocks.demand, num_blocks_}, ranks_of(home, current_.ep), current_.ep}
            .sum_peaks();
    ways.free_objective = ways.objective;
    ways.free_slots = home;
  });
  share();
}

void LayoutMigration::trace(double seconds) {
  const Stopwatch clock;
  for_each_layer([&](const LayerBlocks& blocks, SwapTrajectory& ways) {
    if (clock.seconds() > seconds) {
      return;
    }
    const Stream random{
        options_.search.seed, Purpose::kPlacement,
        static_cast<std::uint32_t>(blocks.layer.value())};
    SwapTrajectory traced = block_trajectory(
        blocks.demand, num_blocks_, current_.ep, current_.layers[blocks.layer], {.num_threads = 1},
        random, choose_simd(options_.search)
    );
    std::ranges::move(ways.paths, std::back_inserter(traced.paths));
    ways = std::move(traced);
  });
  share();
}

void LayoutMigration::search_near(const Placement& start, std::int64_t price, std::uint32_t round) {
  for_each_layer([&](const LayerBlocks& blocks, SwapTrajectory& ways) {
    const auto owner = round * static_cast<std::uint32_t>(current_.layers.size()) +
                       static_cast<std::uint32_t>(blocks.layer.value());
    const Stream random{options_.search.seed, Purpose::kPerturbation, owner};
    std::ranges::move(
        search_at_price(
            blocks.demand, num_blocks_, current_.ep,
            {current_.layers[blocks.layer], start.layers[blocks.layer], price, random,
             choose_simd(options_.search)}
        ),
        std::back_inserter(ways.paths)
    );
  });
  share();
}

std::vector<MigrationChoice> LayoutMigration::choose(std::span<const std::int64_t> budgets) const {
  return choose_migrations(all_, current_, budgets);
}

std::int64_t LayoutMigration::price_at(std::int64_t moved) const {
  const std::int64_t reach = std::max<std::int64_t>(moved * 15 / 100, 1);
  const std::array<std::int64_t, 2> around = {
      std::max<std::int64_t>(moved - reach, 0), moved + reach};
  const std::vector<MigrationChoice> choices = choose(around);
  return std::max<std::int64_t>(
      (choices[0].objective - choices[1].objective) / (around[1] - around[0]), 1
  );
}

// Collective. visit(blocks, ways) for the layers of this rank; errors are agreed on.
template <class Visit>
void LayoutMigration::for_each_layer(const Visit& visit) {
  agree_on(
      [&] {
        parallel_for(blocks_.size(), num_threads_, [&](std::size_t at) {
          visit(blocks_[at], mine_[at]);
        });
      },
      comm_
  );
}

// What this rank found, to all.
void LayoutMigration::share() {
  std::vector<std::int64_t> words;
  for (std::size_t at = 0; at < mine_.size(); ++at) {
    pack_trajectory(blocks_[at].layer, mine_[at], words);
  }
  const std::vector<std::int64_t> gathered = all_gather(words, comm_);
  TrajectoryReader reader(gathered);
  while (!reader.done()) {
    const MoeLayer layer{reader.id()};
    all_[layer] = unpack_trajectory(reader, current_.num_experts);
  }
}

}  // namespace routepack
