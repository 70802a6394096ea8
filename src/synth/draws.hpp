// Which random numbers drive what in a synthetic window. Streams belong to a prompt, a sample or,
// owner 0, the model, which may have a seed of its own; the step says what is drawn, and at which
// MoE layer. So every value is a function of the seeds alone, wherever and in whatever order it is
// computed.
#pragma once

#include <cstdint>

#include "random/stream.hpp"

namespace routepack {

enum class Draw : std::uint32_t {
  kPopularity,    // model: index expert
  kLoading,       // model: index expert * latents + latent
  kHotSet,        // model: a permutation of the experts
  kPromptLatent,  // prompt: index latent
  kSampleLatent,  // sample: index latent
  kPromptLength,  // prompt: 0 its prompt tokens, 1 the level of its responses
  kSampleLength,  // sample
  kCapped,        // sample
  kPromptTokens,  // prompt: index expert, or token of the prompt
  kSampleTokens,  // sample: index expert, or token of the response
  kPromptLayer,   // prompt: index 0, or a permutation of the experts
  kSampleLayer,   // sample: the same
  kDrift,         // model: index step * experts + expert
};

struct DrawSource {
  std::uint64_t seed = 0;

  [[nodiscard]] Stream stream(std::int64_t owner) const {
    return {seed, Purpose::kSynthetic, static_cast<std::uint32_t>(owner)};
  }
  [[nodiscard]] static std::uint32_t step(Draw draw, int layer = 0) {
    return (static_cast<std::uint32_t>(draw) << 16U) | static_cast<std::uint32_t>(layer);
  }
};

}  // namespace routepack
