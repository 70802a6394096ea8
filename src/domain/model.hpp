// Sizes of a model, as configs/*.cfg states them (keys: configs/README.md). CMake turns the files
// into values and refuses those that cannot be (cmake/RoutePackPresets.cmake). What the sizes cost
// is in model_cost.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "routepack/cost.hpp"
#include "routepack/topology.hpp"
#include "routepack/window.hpp"

namespace routepack::domain {

enum class AttentionKind { kFull, kSliding, kMla, kKda, kGatedDeltaNet, kLightning };

// The word used in configs and for the stage of this kind, e.g. "gated_delta_net".
[[nodiscard]] std::string_view name_of(AttentionKind kind);

// Gate on the attention's output: none, one number a head, or one an element.
enum class OutputGate { kNone, kHead, kElement };

// Sizes of the attention of one kind of layer; 0 where a kind has no such size.
struct AttentionShape {
  AttentionKind kind = AttentionKind::kFull;
  int heads = 0;     // query heads; kGatedDeltaNet: value heads
  int kv_heads = 0;  // key/value heads; kGatedDeltaNet: key heads
  int qk_dim = 0;    // width of a head's queries and keys
  int v_dim = 0;     // width of a head's values
  int rope_dim = 0;  // kMla: the part of qk_dim whose keys all heads share
  int q_lora = 0;    // kMla: rank of the query compression; 0: not compressed
  int kv_lora = 0;   // kMla: rank of the key/value compression
  int window = 0;    // kSliding: tokens that a token sees, itself included
  int conv = 0;      // linear kinds: width of the short convolution
  OutputGate gate = OutputGate::kNone;
};

struct ModelPreset {
  std::string name;
  int layers = 0;
  int dense_layers = 0;  // the first layers: a plain gated MLP instead of experts
  int dense_ffn = 0;
  int hidden = 0;      // h
  int experts = 0;     // E
  int top_k = 0;       // k
  int expert_ffn = 0;  // f
  int shared_experts = 0;
  int shared_ffn = 0;  // inner width of one shared expert
  int router_groups = 1;
  int router_groups_picked = 1;
  std::int64_t context_tokens = 0;     // longest sample
  std::vector<AttentionShape> shapes;  // kinds in the order of their first layer
  std::vector<int> shape_of_layer;     // [layers] index into shapes

  // Absolute indices of the MoE layers, ascending.
  [[nodiscard]] std::vector<int> moe_layers() const;
};

// Names of the embedded presets, ascending.
[[nodiscard]] std::vector<std::string> preset_names();

// Throws USAGE, with the names there are, for an unknown one.
[[nodiscard]] ModelPreset find_preset(std::string_view name);

// What a model's layers cost, in units of one routed pair: the forward FLOPs of one token in one
// routed expert, 6*h*f (three h x f matrices, a multiply and an add each). The backward pass costs
// twice the forward one in all parts alike, so ratios, and plans, are those of the forward pass.

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

// The models of configs/*.cfg by name, ascending: CMake checks the files and writes the values.
[[nodiscard]] std::span<const ModelPreset> embedded_presets();

}  // namespace routepack::domain
