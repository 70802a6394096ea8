#include "planner/search.hpp"

#include <optional>
#include <utility>

#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "planner/enumerate.hpp"
#include "planner/placed_window.hpp"
#include "planner/plan_search.hpp"
#include "planner/polish.hpp"

namespace routepack {
namespace {

// With a current placement, the share of the budget that goes into other limits on moving.
constexpr double kFrontShare = 0.25;

// The best plan of a tiny window, where all of them can be looked at. Not where moving has a limit
// or a price, or a front of limits is to be shown.
std::optional<SearchOutput> enumerate(const SearchInput& input, const Communicator& comm) {
  constexpr std::int64_t kMaxEntries = 1 << 20;  // of the whole demand, on every rank
  const WindowShape& shape = input.slice.shape;
  const bool places =
      input.options.constraints.placement == PlacementChoice::kFree && shape.num_moe_layers() > 0;
  const auto num_samples = static_cast<std::int64_t>(input.padded.size());
  if (num_samples > kMostEnumeratedSamples || (places && input.options.current_placement) ||
      num_samples * shape.num_moe_layers() * shape.num_experts > kMaxEntries) {
    return std::nullopt;
  }
  const Communicator node = comm.split_by_node();
  const PlacedWindow placed(
      input.slice, input.padded, input.options, input.packed.num_rows, input.placement, node, comm
  );
  const std::vector<std::uint32_t> demand = all_gather(input.slice.demand, comm);
  const std::optional<Enumerated> best = agree_on(
      [&] {
        return enumerate_plans({placed.problem(), placed.placement(), input.before, places, demand}
        );
      },
      comm
  );
  if (!best) {
    return std::nullopt;
  }
  const PlacedWindow chosen(
      input.slice, input.padded, input.options, input.packed.num_rows, best->placement, node, comm
  );
  return SearchOutput{
      best->placement,
      deal_blocks(chosen.problem(), best->layout),
      input.options.search,
      SearchEnd::kProved,
      true,
      {}};
}

}  // namespace

SearchOutput search_plan(
    const SearchInput& input, const PlanObserver& observer, const Communicator& comm
) {
  if (std::optional<SearchOutput> best = enumerate(input, comm)) {
    return std::move(*best);
  }
  PlanSearch search(input, observer, comm);
  if (!input.options.current_placement ||
      input.options.constraints.placement != PlacementChoice::kFree) {
    search.run_turns(1.0);
    return search.result({});
  }
  search.run_turns(1.0 - kFrontShare);
  std::vector<MigrationPoint> front = search.trace_front(kFrontShare);
  return search.result(std::move(front));
}

}  // namespace routepack
