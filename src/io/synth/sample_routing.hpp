// Draws the routing of single samples: counts per expert, or the experts of every token.
#pragma once

#include <cstdint>
#include <vector>

#include "io/synth/lengths.hpp"
#include "io/synth/routing_model.hpp"

namespace routepack {

class SampleRouting {
 public:
  explicit SampleRouting(const SynthOptions& options);

  // [L, E] routed pairs: exactly k * tokens at every layer, each at most the tokens. Rollouts of a
  // prompt share the draw of its own tokens, as equal prefixes route equally.
  [[nodiscard]] std::vector<std::uint32_t> counts(
      std::int64_t sample, const SampleTokens& tokens
  ) const;

  // [rows, A, k] expert ids of the sample's tokens in order, distinct within a row; A and the rows
  // as options.all_layers and options.last_route say. Each expert's inclusion probability is
  // exactly its rate; tokens are independent given the rates (a design effect of 1).
  [[nodiscard]] std::vector<std::uint16_t> routes(
      std::int64_t sample, const SampleTokens& tokens
  ) const;

 private:
  [[nodiscard]] std::vector<std::int64_t> draw_counts(
      const std::vector<std::int64_t>& rates,
      std::int64_t tokens,
      const Stream& stream,
      std::uint32_t token_step,
      std::uint32_t rounding_step
  ) const;

  SynthOptions options_;
  int num_moe_layers_;
  RoutingModel model_;
};

}  // namespace routepack
