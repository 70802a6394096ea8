// Draws single samples: their lengths, correlated within a prompt, and their routing, as counts per
// expert or as the experts of every token.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "synth/draws.hpp"
#include "synth/routing_model.hpp"

namespace routepack::synth {

// Tokens of one sample, both at least 1. All rollouts of a prompt have the same prompt tokens.
struct SampleTokens {
  std::int64_t prompt = 0;
  std::int64_t response = 0;
  [[nodiscard]] std::int64_t total() const { return prompt + response; }
};

// [N], every total at most length_max. Cheap: every MPI rank computes all of them.
[[nodiscard]] std::vector<SampleTokens> draw_lengths(const SynthOptions& options);

class SampleRouting {
 public:
  explicit SampleRouting(const SynthOptions& options);

  // [L, E] routed pairs: exactly k * tokens at every layer, each at most the tokens. Rollouts of a
  // prompt share the draw of its own tokens, as equal prefixes route equally.
  [[nodiscard]] std::vector<std::uint32_t> counts(std::int64_t sample, const SampleTokens& tokens)
      const;

  // [rows, A, k] expert ids of the sample's tokens in order, distinct within a row; A and the rows
  // as options.all_layers and options.last_route say; dense layers hold zeros. Each expert's
  // inclusion probability is exactly its rate; tokens are independent given the rates (a design
  // effect of 1, whatever the option says).
  [[nodiscard]] std::vector<std::uint16_t> routes(std::int64_t sample, const SampleTokens& tokens)
      const;

 private:
  // Consecutive tokens of a sample that are drawn alike: its prompt, or its response.
  struct Part {
    std::int64_t tokens = 0;
    RoutingModel::Latent latent;
    random::Stream stream;
    Draw token_draw;
    Draw layer_draw;  // one draw a layer: the offset of rounding, or the order of the experts
  };
  [[nodiscard]] std::array<Part, 2> parts_of(std::int64_t sample, const SampleTokens& tokens) const;
  [[nodiscard]] std::vector<std::int64_t> draw_counts(const Part& part, int layer) const;

  SynthOptions options_;
  std::vector<int> moe_layers_;
  RoutingModel model_;
};

}  // namespace routepack::synth
