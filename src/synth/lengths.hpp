// Lengths of a synthetic window's samples: prompts and responses, correlated within a prompt.
#pragma once

#include <cstdint>
#include <vector>

#include "synth/options.hpp"

namespace routepack {

// Tokens of one sample, both at least 1. All rollouts of a prompt have the same prompt tokens.
struct SampleTokens {
  std::int64_t prompt = 0;
  std::int64_t response = 0;
  [[nodiscard]] std::int64_t total() const { return prompt + response; }
};

// [N], every total at most length_max. Cheap: every MPI rank computes all of them.
[[nodiscard]] std::vector<SampleTokens> draw_lengths(const SynthOptions& options);

}  // namespace routepack
