// What a model's layers cost, in units of one routed pair: the forward FLOPs of one token in one
// routed expert, 6*h*f (three h x f matrices, a multiply and an add each). The backward pass costs
// twice the forward one in all parts alike, so ratios, and plans, are those of the forward pass.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/model_preset.hpp"
#include "routepack/cost.hpp"
#include "routepack/topology.hpp"
#include "routepack/window.hpp"

namespace routepack {

// Forward FLOPs of one token in the parts of a layer whose cost grows with the number of tokens:
// attention projections, linear attention's state, attention within a window, and the dense MLP,
// or the router and the shared experts. Not the routed experts, norms and element-wise parts.
[[nodiscard]] std::int64_t dense_flops_per_token(const ModelPreset& preset, int layer);

// Forward FLOPs per squared length: H*(qk_dim + v_dim), half of 2*H*(qk_dim + v_dim) because the
// mask is causal; 0 for linear attention, and for a window, which is far below the sample lengths.
[[nodiscard]] std::int64_t quadratic_flops(const AttentionShape& shape);

// One stage a kind of attention, in the order of their first layers, named after the kind:
//   alpha = Σ dense_flops_per_token / (6*h*f) / (tp*cp)
//   beta = capacity * Σ quadratic_flops / (6*h*f) / (tp*cp)
// over the kind's layers, so that alpha * Σ len/C + beta * Σ (len/C)² are routed pairs per
// capacity, like the experts' cost. `capacity_tokens` > 0.
[[nodiscard]] std::vector<AttentionStage> stages_of_model(
    const ModelPreset& preset, std::int64_t capacity_tokens, const Topology& topology
);

// Those stages, and the weight of a routed pair at the peak EP rank: 1 / etp, since etp GPUs share
// an expert's pairs as tp*cp GPUs share attention.
[[nodiscard]] CostModel cost_of_model(
    const ModelPreset& preset, std::int64_t capacity_tokens, const Topology& topology
);

// Throws USAGE, naming both, where the window is of a model with other MoE layers, experts or top-k
// than the preset's. Windows of lengths alone, without experts, pass.
void check_model_of_window(const ModelPreset& preset, const WindowShape& window);

// Bytes that move with one expert: 3*h*f parameters of 14 B each (2 for the bf16 weight, 4 for the
// fp32 master weight, 8 for the two moments of Adam). Gradients are dead when experts move.
[[nodiscard]] std::int64_t bytes_per_expert(const ModelPreset& preset);

}  // namespace routepack
