// A placement with everything that depends on it: the samples' demand on its EP ranks and the
// layout problem.
#pragma once

#include <utility>

#include "comm/agreement.hpp"
#include "demand/project.hpp"
#include "objective/search_problem.hpp"
#include "packing/lengths.hpp"
#include "routepack/options.hpp"
#include "routepack/placement.hpp"
#include "routepack/window.hpp"

namespace routepack {

class PlacedWindow {
 public:
  // Collective over `comm`; `node` is its split_by_node().
  PlacedWindow(
      const WindowSlice& slice,
      const PaddedLengths& padded,
      const PlanOptions& options,
      int num_rows,
      Placement placement,
      const Communicator& node,
      const Communicator& comm
  )
      : placement_(std::move(placement)),
        projected_(project_demand(slice, placement_, node, comm)),
        problem_(agree_on(
            [&] {
              return make_search_problem(
                  padded, projected_.view(), options.topology, options.cost,
                  cell_rules(options, slice.shape.top_k), num_rows
              );
            },
            comm
        )) {}
  PlacedWindow(const PlacedWindow&) = delete;  // the problem points into the projection
  PlacedWindow& operator=(const PlacedWindow&) = delete;

  [[nodiscard]] const Placement& placement() const { return placement_; }
  [[nodiscard]] const SearchProblem& problem() const { return problem_; }

 private:
  Placement placement_;
  ProjectedDemand projected_;
  SearchProblem problem_;
};

}  // namespace routepack
