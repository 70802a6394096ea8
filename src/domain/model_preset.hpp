// Sizes of a model, as configs/*.cfg states them (keys: configs/README.md). CMake turns the files
// into values and refuses those that cannot be (cmake/RoutePackPresets.cmake). What the sizes cost
// is in model_cost.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace routepack {

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

}  // namespace routepack
