// One optimizer step of rollouts, as the planner needs it: lengths and routing demand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "routepack/ids.hpp"

namespace routepack {

struct WindowShape {
  std::int64_t num_samples = 0;  // N, of the whole window
  std::vector<int> moe_layers;   // absolute indices, ascending; L of them (0: a dense model)
  int num_layers = 0;            // all transformer layers
  int num_experts = 0;           // E
  int top_k = 0;                 // k
  std::string name;

  [[nodiscard]] int num_moe_layers() const { return static_cast<int>(moe_layers.size()); }
  bool operator==(const WindowShape&) const = default;
};

// The consecutive samples that one MPI rank holds. The slices of all ranks, in rank order, are
// the window; a slice may be empty.
struct WindowSlice {
  WindowShape shape;
  std::int64_t first_sample = 0;      // id of the first local sample
  std::vector<std::int64_t> lengths;  // [n_local] tokens, unpadded
  std::vector<std::uint32_t> demand;  // [n_local, L, E] routed pairs
  std::int64_t unrouted_tokens = 0;   // local tokens without a route

  [[nodiscard]] std::int64_t num_local() const { return static_cast<std::int64_t>(lengths.size()); }
};

}  // namespace routepack
