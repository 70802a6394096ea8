#include "placement/migrate.hpp"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "placement/relabel.hpp"

namespace routepack {
namespace {

// What one layer may do: option 0 stays, option k takes k swaps, the last one moves freely.
struct Option {
  std::int64_t moved = 0;
  std::int64_t objective = 0;
  std::size_t number = 0;
};

std::vector<Option> list_options(const SwapTrajectory& trajectory) {
  std::vector<Option> options = {{0, trajectory.objective, 0}};
  for (const SwapStep& step : trajectory.steps) {
    options.push_back({step.moved_experts, step.objective, options.size()});
  }
  options.push_back({trajectory.free_moved_experts, trajectory.free_objective, options.size()});
  // Only options that gain on all with as few moves, by moves ascending.
  std::sort(options.begin(), options.end(), [](const Option& x, const Option& y) {
    return std::tie(x.moved, x.objective, x.number) < std::tie(y.moved, y.objective, y.number);
  });
  std::vector<Option> useful;
  for (const Option& option : options) {
    if (useful.empty() || option.objective < useful.back().objective) {
      useful.push_back(option);
    }
  }
  return useful;
}

// a gains more per moved expert than b, both seen from `from`.
bool steeper(const Option& from, const Option& a, const Option& b) {
  __extension__ using Wide = __int128;
  return Wide{from.objective - a.objective} * (b.moved - from.moved) >
         Wide{from.objective - b.objective} * (a.moved - from.moved);
}

// Positions in `options` of the lower convex hull, from the first on.
std::vector<std::size_t> find_hull(const std::vector<Option>& options) {
  std::vector<std::size_t> hull = {0};
  while (hull.back() + 1 < options.size()) {
    std::size_t best = hull.back() + 1;
    for (std::size_t next = best + 1; next < options.size(); ++next) {
      if (!steeper(options[hull.back()], options[best], options[next])) {
        best = next;  // as steep, but farther
      }
    }
    hull.push_back(best);
  }
  return hull;
}

struct LayerMenu {
  std::vector<Option> options;
  std::vector<std::size_t> hull;
};

// A hull edge that a layer may take next.
struct Edge {
  Option from;
  Option to;
  MoeLayer layer;
  std::size_t hull_place = 0;  // of `to`

  // Less urgent: flatter, then the higher layer.
  bool operator<(const Edge& other) const {
    const Option origin;
    const Option mine{to.moved - from.moved, to.objective - from.objective, 0};
    const Option others{
        other.to.moved - other.from.moved, other.to.objective - other.from.objective, 0};
    if (steeper(origin, mine, others) || steeper(origin, others, mine)) {
      return steeper(origin, others, mine);
    }
    return layer > other.layer;
  }
};

using Choice = IndexVector<MoeLayer, std::size_t>;  // position in the layer's options

// Hull edges by steepness; those that do not fit are passed over, with all after them.
std::int64_t take_hull_edges(
    const IndexVector<MoeLayer, LayerMenu>& menus, std::int64_t budget, Choice& choice
) {
  std::priority_queue<Edge> edges;
  const auto offer = [&](MoeLayer layer, std::size_t place) {
    const LayerMenu& menu = menus[layer];
    if (place + 1 < menu.hull.size()) {
      edges.push(
          {menu.options[menu.hull[place]], menu.options[menu.hull[place + 1]], layer, place + 1}
      );
    }
  };
  for (const MoeLayer layer : ids<MoeLayer>(menus.size())) {
    offer(layer, 0);
  }
  while (!edges.empty()) {
    const Edge edge = edges.top();
    edges.pop();
    const std::int64_t moves = edge.to.moved - edge.from.moved;
    if (moves <= budget) {
      budget -= moves;
      choice[edge.layer] = menus[edge.layer].hull[edge.hull_place];
      offer(edge.layer, edge.hull_place);
    }
  }
  return budget;
}

// Options off the hulls for what is left: the largest gain that fits, until nothing does.
void take_what_fits(
    const IndexVector<MoeLayer, LayerMenu>& menus, std::int64_t budget, Choice& choice
) {
  bool found = true;
  while (found) {
    found = false;
    MoeLayer best_layer;
    std::size_t best_option = 0;
    std::int64_t best_gain = 0;
    for (const MoeLayer layer : ids<MoeLayer>(menus.size())) {
      const std::vector<Option>& options = menus[layer].options;
      const Option& now = options[choice[layer]];
      std::size_t last = choice[layer];
      while (last + 1 < options.size() && options[last + 1].moved - now.moved <= budget) {
        ++last;
      }
      if (now.objective - options[last].objective > best_gain) {
        best_gain = now.objective - options[last].objective;
        best_layer = layer;
        best_option = last;
        found = true;
      }
    }
    if (found) {
      const std::vector<Option>& options = menus[best_layer].options;
      budget -= options[best_option].moved - options[choice[best_layer]].moved;
      choice[best_layer] = best_option;
    }
  }
}

LayerPlacement slots_of(
    const SwapTrajectory& trajectory, std::size_t option, const LayerPlacement& current, int ep
) {
  if (option > trajectory.steps.size()) {
    return trajectory.free_slots;
  }
  RankOfExpert rank_of = ranks_of(current, ep);
  for (std::size_t step = 0; step < option; ++step) {
    std::swap(rank_of[trajectory.steps[step].a], rank_of[trajectory.steps[step].b]);
  }
  return assign_slots(rank_of, current, ep);
}

}  // namespace

std::vector<MigrationChoice> choose_migrations(
    const IndexVector<MoeLayer, SwapTrajectory>& trajectories,
    const Placement& current,
    std::span<const std::int64_t> budgets
) {
  IndexVector<MoeLayer, LayerMenu> menus;
  for (const SwapTrajectory& trajectory : trajectories) {
    LayerMenu menu{list_options(trajectory), {}};
    menu.hull = find_hull(menu.options);
    menus.push_back(std::move(menu));
  }
  std::vector<MigrationChoice> front;
  for (const std::int64_t budget : budgets) {
    Choice choice{menus.size(), 0};
    take_what_fits(menus, take_hull_edges(menus, budget, choice), choice);
    MigrationChoice point{budget, 0, 0, {current.num_experts, current.ep, {}}};
    for (const MoeLayer layer : ids<MoeLayer>(menus.size())) {
      const Option& option = menus[layer].options[choice[layer]];
      point.moved_experts += option.moved;
      point.objective += option.objective;
      point.placement.layers.push_back(
          slots_of(trajectories[layer], option.number, current.layers[layer], current.ep)
      );
    }
    for (const MigrationChoice& smaller : front) {
      if (smaller.moved_experts <= budget && smaller.objective < point.objective) {
        point = smaller;
        point.max_moved = budget;
      }
    }
    front.push_back(std::move(point));
  }
  return front;
}

std::vector<std::int64_t> front_budgets(const Placement& current) {
  const std::int64_t all = std::int64_t{current.num_experts} * std::ssize(current.layers.values());
  std::vector<std::int64_t> budgets;
  for (const std::int64_t percent : {0, 1, 2, 5, 10, 25, 100}) {
    budgets.push_back(all * percent / 100);
  }
  return budgets;
}

}  // namespace routepack
