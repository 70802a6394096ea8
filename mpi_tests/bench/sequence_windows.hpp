// Pairs of windows that follow each other in training: what a placement was planned for, and what
// it then meets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "routepack/topology.hpp"
#include "routepack/window.hpp"

namespace routepack {

struct WindowPair {
  WindowSlice before;
  WindowSlice after;
};

// A kind of pair: of a synthetic model whose expert popularity drifts between the two (0: only the
// samples are new), or, with a folder, of a recorded window whose samples are dealt to both.
struct SequenceCase {
  std::string name;
  std::string folder;
  std::string preset;
  std::int64_t num_prompts = 64;  // with 8 rollouts each
  double length_median = 800.0;
  double popularity = 1.0;  // standard deviation of the log
  double drift = 0.0;       // standard deviation of the change of log popularity
  Topology topology;
  std::int64_t capacity_tokens = 8192;
};

// The synthetic models, each without drift.
[[nodiscard]] std::vector<SequenceCase> synthetic_cases();

// From folder:dp:ep:capacity. Throws std::invalid_argument.
[[nodiscard]] SequenceCase parse_case(const std::string& text);

// Collective. Every seed gives another pair.
[[nodiscard]] WindowPair make_pair_of(
    const SequenceCase& sequence, std::uint64_t seed, const comm::Communicator& comm
);

}  // namespace routepack
