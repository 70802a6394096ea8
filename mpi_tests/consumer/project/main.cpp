// Uses plain data and library code of the installed package; exits with 0 if both behave.
#include <cstdio>
#include <utility>

#include "routepack/error.hpp"
#include "routepack/placement.hpp"
#include "routepack/topology.hpp"

int main() {
  const routepack::Topology topology{.dp = 8, .ep = 4};
  routepack::validate_topology(topology, 16);
  const routepack::Placement before = routepack::identity_placement(2, 16, topology.ep);
  routepack::Placement after = before;
  routepack::LayerPlacement& layer = after.layers[routepack::MoeLayer{1}];
  std::swap(layer[routepack::ExpertId{0}], layer[routepack::ExpertId{15}]);
  bool refused = false;
  try {
    routepack::validate_topology({.dp = 6, .ep = 4}, 16);
  } catch (const routepack::Error& error) {
    refused = error.code() == routepack::ErrorCode::kTopologyMismatch;
  }
  const bool moved_two = routepack::count_moved_experts(before, after) == 2;
  std::printf(
      "edp %d, moved %s, refused %s\n", topology.edp(), moved_two ? "2" : "wrong",
      refused ? "yes" : "no"
  );
  return topology.edp() == 2 && moved_two && refused ? 0 : 1;
}
