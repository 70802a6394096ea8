#include "planner/search.hpp"

#include <utility>

#include "planner/plan_search.hpp"

namespace routepack {
namespace {

// With a current placement, the share of the budget that goes into other limits on moving.
constexpr double kFrontShare = 0.25;

}  // namespace

SearchOutput search_plan(
    const SearchInput& input, const PlanObserver& observer, const Communicator& comm
) {
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
