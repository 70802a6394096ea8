#include "placement/moving/choose_migrations.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "placement/aggregate/rank_state.hpp"

namespace routepack::placement {
namespace {

// What one layer may do: the first `swaps` of a path; the path after the last moves freely.
struct Option {
  std::int64_t moved = 0;
  std::int64_t objective = 0;
  std::size_t path = 0;
  std::size_t swaps = 0;
};

std::vector<Option> list_options(const SwapTrajectory& trajectory) {
  std::vector<Option> options = {{0, trajectory.objective, 0, 0}};
  const std::size_t num_paths = trajectory.paths.size();
  for (std::size_t path = 0; path < num_paths; ++path) {
    std::size_t swaps = 0;
    for (const SwapStep& step : trajectory.paths[path]) {
      options.push_back({step.moved_experts, step.objective, path, ++swaps});
    }
  }
  options.push_back({trajectory.free_moved_experts, trajectory.free_objective, num_paths, 0});
  // Only those that gain on all with as few moves, by moves ascending.
  std::sort(options.begin(), options.end(), [](const Option& x, const Option& y) {
    return std::tie(x.moved, x.objective, x.path, x.swaps) <
           std::tie(y.moved, y.objective, y.path, y.swaps);
  });
  std::vector<Option> useful;
  for (const Option& option : options) {
    if (useful.empty() || option.objective < useful.back().objective) {
      useful.push_back(option);
    }
  }
  return useful;
}

using Menus = IndexVector<MoeLayer, std::vector<Option>>;

// The exact best choice for every budget up to `most`, by dynamic programming over layers.
class BudgetTable {
 public:
  BudgetTable(const Menus& menus, std::int64_t most) : menus_(menus) {
    std::vector<std::int64_t> best = {0};  // Σ of objectives by moved experts allowed so far
    for (const std::vector<Option>& menu : menus) {
      const std::size_t reach = best.size() - 1 + static_cast<std::size_t>(menu.back().moved);
      const std::size_t size = std::min(reach, static_cast<std::size_t>(most)) + 1;
      const std::vector<std::int64_t> before = std::exchange(best, {});
      best.assign(size, std::numeric_limits<std::int64_t>::max());
      std::vector<std::uint16_t> taken(size, 0);
      for (std::size_t number = 0; number < menu.size(); ++number) {
        const auto moved = static_cast<std::size_t>(menu[number].moved);
        for (std::size_t allowed = moved; allowed < size; ++allowed) {
          const std::size_t left = std::min(allowed - moved, before.size() - 1);
          const std::int64_t sum = before[left] + menu[number].objective;
          if (sum < best[allowed]) {
            best[allowed] = sum;
            taken[allowed] = static_cast<std::uint16_t>(number);
          }
        }
      }
      taken_.push_back(std::move(taken));
    }
    last_ = std::move(best);
  }

  // Of every layer, the option it takes. Among equal sums fewer experts move.
  [[nodiscard]] IndexVector<MoeLayer, Option> choose(std::int64_t budget) const {
    auto allowed = std::min(static_cast<std::size_t>(budget), last_.size() - 1);
    while (allowed > 0 && last_[allowed - 1] == last_[allowed]) {
      --allowed;
    }
    IndexVector<MoeLayer, Option> choice{menus_.size()};
    for (std::size_t end = menus_.size(); end > 0; --end) {
      const MoeLayer layer{end - 1};
      allowed = std::min(allowed, taken_[layer].size() - 1);
      choice[layer] = menus_[layer][taken_[layer][allowed]];
      allowed -= static_cast<std::size_t>(choice[layer].moved);
    }
    return choice;
  }

 private:
  const Menus& menus_;
  IndexVector<MoeLayer, std::vector<std::uint16_t>> taken_;  // option number by experts allowed
  std::vector<std::int64_t> last_;                           // Σ over all layers
};

LayerPlacement slots_of(
    const SwapTrajectory& trajectory, const Option& option, const LayerPlacement& current, int ep
) {
  if (option.path == trajectory.paths.size()) {
    return trajectory.free_slots;
  }
  RankOfExpert rank_of = ranks_of(current, ep);
  for (std::size_t step = 0; step < option.swaps; ++step) {
    const SwapStep& swap = trajectory.paths[option.path][step];
    std::swap(rank_of[swap.a], rank_of[swap.b]);
  }
  return assign_slots(rank_of, current, ep);
}

}  // namespace

std::vector<MigrationChoice> choose_migrations(
    const IndexVector<MoeLayer, SwapTrajectory>& trajectories,
    const Placement& current,
    std::span<const std::int64_t> budgets
) {
  Menus menus;
  for (const SwapTrajectory& trajectory : trajectories) {
    menus.push_back(list_options(trajectory));
  }
  std::int64_t most = 0;
  for (const std::int64_t budget : budgets) {
    most = std::max(most, budget);
  }
  const BudgetTable table{menus, most};
  std::vector<MigrationChoice> front;
  for (const std::int64_t budget : budgets) {
    const IndexVector<MoeLayer, Option> choice = table.choose(budget);
    MigrationChoice point{budget, 0, 0, {current.num_experts, current.ep, {}}};
    for (const MoeLayer layer : ids<MoeLayer>(menus.size())) {
      point.moved_experts += choice[layer].moved;
      point.objective += choice[layer].objective;
      point.placement.layers.push_back(
          slots_of(trajectories[layer], choice[layer], current.layers[layer], current.ep)
      );
    }
    front.push_back(std::move(point));
  }
  return front;
}

std::vector<std::int64_t> front_budgets(const Placement& current) {
  const std::int64_t all = std::int64_t{current.num_experts} * std::ssize(current.layers.values());
  std::vector<std::int64_t> budgets;
  for (const double fraction : kFrontFractions) {
    budgets.push_back(static_cast<std::int64_t>(fraction * static_cast<double>(all) + 1e-9));
  }
  return budgets;
}

}  // namespace routepack::placement
