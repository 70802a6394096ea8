// What a synthetic window is drawn from: random numbers that are functions of the seeds alone, and
// exp, log and normal deviates from IEEE-754 operations that are exactly defined everywhere (+ - *
// /, sqrt, scaling by powers of two) in one fixed order. The C library's exp, log and sin differ by
// an ulp between versions and CPUs, which would change a window's counts.
#pragma once

#include <cstdint>

#include "random/stream.hpp"

namespace routepack::synth {

// Which random numbers drive what. Streams belong to a prompt, a sample or, owner 0, the model,
// which may have a seed of its own; the step says what is drawn, and at which MoE layer. So every
// value is the same wherever and in whatever order it is computed.
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

  [[nodiscard]] random::Stream stream(std::int64_t owner) const {
    return {seed, random::Purpose::kSynthetic, static_cast<std::uint32_t>(owner)};
  }
  [[nodiscard]] static std::uint32_t step(Draw draw, int layer = 0) {
    return (static_cast<std::uint32_t>(draw) << 16U) | static_cast<std::uint32_t>(layer);
  }
};

// e^x, for |x| <= 700, to about 2 ulp.
[[nodiscard]] double portable_exp(double x);

// Natural logarithm, for normal x > 0, to about 2 ulp.
[[nodiscard]] double portable_log(double x);

// Standard normal deviate `index` of a stream's step (Marsaglia's polar method). Draws of the same
// step must not be used otherwise: a deviate uses blocks [64 * index, 64 * index + 64).
[[nodiscard]] double draw_normal(
    const random::Stream& stream, std::uint32_t step, std::uint64_t index
);

}  // namespace routepack::synth
