// How often the tokens of a sample go to each expert of a MoE layer.
//   log rate(l, e | sample) = log popularity(l, e) + spread * w(l, e) · z(sample)
//   z(sample) = sqrt(share_prompt) * z_prompt + sqrt(1 - share_prompt) * z_rollout
// z: a few latent numbers common to all layers, so samples that resemble each other do so at every
// layer; w: random unit vectors, new at each layer, so which expert gains is independent of the
// layer. Rates are scaled to sum to k with none above 1, as a token uses an expert at most once.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "synth/options.hpp"

namespace routepack::synth {

class RoutingModel {
 public:
  static constexpr std::size_t kLatents = 8;
  using Latent = std::array<double, kLatents>;
  static constexpr int kRateBits = 32;  // rates are integers in units of 2^-32

  explicit RoutingModel(const SynthOptions& options);

  // Of a prompt's own tokens, and of a sample's response.
  [[nodiscard]] Latent prompt_latent(std::int64_t prompt) const;
  [[nodiscard]] Latent sample_latent(std::int64_t sample) const;

  // [E] at MoE layer `layer` (an index into moe_layers), in units of 2^-kRateBits; they sum to
  // exactly k * 2^kRateBits and none exceeds 2^kRateBits.
  [[nodiscard]] std::vector<std::int64_t> rates(const Latent& latent, int layer) const;

 private:
  SynthOptions options_;
  std::size_t num_experts_;
  double spread_;
  std::vector<double> popularity_;  // [L, E]
  std::vector<Latent> loadings_;    // [L, E] unit vectors
};

}  // namespace routepack::synth
