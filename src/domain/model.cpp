#include "domain/model.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "base/check.hpp"

namespace routepack::domain {
std::string_view name_of(AttentionKind kind) {
  switch (kind) {
    case AttentionKind::kFull:
      return "full";
    case AttentionKind::kSliding:
      return "sliding";
    case AttentionKind::kMla:
      return "mla";
    case AttentionKind::kKda:
      return "kda";
    case AttentionKind::kGatedDeltaNet:
      return "gated_delta_net";
    case AttentionKind::kLightning:
      return "lightning";
  }
  return "";
}

std::vector<int> ModelPreset::moe_layers() const {
  std::vector<int> indices(static_cast<std::size_t>(layers - dense_layers));
  std::iota(indices.begin(), indices.end(), dense_layers);
  return indices;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const ModelPreset& preset : embedded_presets()) {
    names.push_back(preset.name);
  }
  return names;
}

ModelPreset find_preset(std::string_view name) {
  const std::span<const ModelPreset> presets = embedded_presets();
  const auto found = std::ranges::find(presets, name, &ModelPreset::name);
  RP_CHECK(
      found != presets.end(), ErrorCode::kUsage, "preset {} is unknown, there are: {}", name,
      fmt::join(preset_names(), ", ")
  );
  return *found;
}

namespace {

// Forward FLOPs of a token through a matrix of `in` x `out`: a multiply and an add an element.
std::int64_t linear(std::int64_t in, std::int64_t out) { return 2 * in * out; }

// Gated MLP: gate and up projections, then down.
std::int64_t gated_mlp(std::int64_t hidden, std::int64_t ffn) { return 3 * linear(hidden, ffn); }

std::int64_t output_gate(const AttentionShape& shape, std::int64_t hidden) {
  const std::int64_t heads = shape.heads;
  switch (shape.gate) {
    case OutputGate::kNone:
      return 0;
    case OutputGate::kHead:
      return linear(hidden, heads);
    case OutputGate::kElement:
      return linear(hidden, heads * shape.v_dim);
  }
  return 0;
}

// Grouped-query attention: queries, keys, values.
std::int64_t grouped_projections(const AttentionShape& shape, std::int64_t hidden) {
  const std::int64_t heads = shape.heads;
  const std::int64_t kv_heads = shape.kv_heads;
  return linear(hidden, heads * shape.qk_dim + kv_heads * (shape.qk_dim + shape.v_dim));
}

// Multi-head latent attention, expanded as in training: queries (through their compression where
// there is one), the common latent with the shared rotary keys, and its expansion to every head's
// keys without their rotary part and values.
std::int64_t latent_projections(const AttentionShape& shape, std::int64_t hidden) {
  const std::int64_t heads = shape.heads;
  const std::int64_t queries = heads * shape.qk_dim;
  const std::int64_t query_flops =
      shape.q_lora > 0 ? linear(hidden, shape.q_lora) + linear(shape.q_lora, queries)
                       : linear(hidden, queries);
  const std::int64_t expanded = heads * (shape.qk_dim - shape.rope_dim + shape.v_dim);
  return query_flops + linear(hidden, shape.kv_lora + shape.rope_dim) +
         linear(shape.kv_lora, expanded);
}

// Short convolution over queries, keys and values, channel by channel.
std::int64_t short_convolution(const AttentionShape& shape, std::int64_t channels) {
  return linear(shape.conv, channels);
}

// The state of a head is qk_dim x v_dim. Its recurrence costs a token, an element of the state:
// 2 FLOPs for the update k vᵀ and 2 to read it with q; the delta rule also decays it (1) and reads
// it with k (2).
constexpr std::int64_t kLinearStateFlops = 4;
constexpr std::int64_t kDeltaStateFlops = 7;
std::int64_t state_size(const AttentionShape& shape) {
  return std::int64_t{shape.heads} * shape.qk_dim * shape.v_dim;
}

// Everything between the layer's input and its output projection, per token.
std::int64_t attention_input(const AttentionShape& shape, std::int64_t hidden) {
  const std::int64_t heads = shape.heads;
  const std::int64_t kv_heads = shape.kv_heads;
  const std::int64_t grouped_channels =
      heads * shape.qk_dim + kv_heads * (shape.qk_dim + shape.v_dim);
  switch (shape.kind) {
    case AttentionKind::kFull:
      return grouped_projections(shape, hidden);
    case AttentionKind::kSliding:
      // Far from the sample's start every token reads a whole window: scores and values.
      return grouped_projections(shape, hidden) +
             2 * heads * (shape.qk_dim + shape.v_dim) * shape.window;
    case AttentionKind::kMla:
      return latent_projections(shape, hidden);
    case AttentionKind::kKda:
      // Queries, keys and values; decay and output gate, both of full width; a beta a head.
      return grouped_projections(shape, hidden) + linear(hidden, heads * shape.qk_dim) +
             linear(hidden, heads * shape.v_dim) + linear(hidden, heads) +
             short_convolution(shape, grouped_channels) + kDeltaStateFlops * state_size(shape);
    case AttentionKind::kGatedDeltaNet: {
      // Queries and keys of the key heads; values and output gate of the value heads; a beta and
      // a decay a value head.
      const std::int64_t queries_and_keys = 2 * kv_heads * shape.qk_dim;
      const std::int64_t values = heads * shape.v_dim;
      return linear(hidden, queries_and_keys + 2 * values + 2 * heads) +
             short_convolution(shape, queries_and_keys + values) +
             kDeltaStateFlops * state_size(shape);
    }
    case AttentionKind::kLightning:
      return grouped_projections(shape, hidden) + short_convolution(shape, grouped_channels) +
             kLinearStateFlops * state_size(shape);
  }
  return 0;
}

// KDA and Gated DeltaNet have an element-wise output gate by construction: it is counted there.
std::int64_t attention_flops(const AttentionShape& shape, std::int64_t hidden) {
  return attention_input(shape, hidden) + output_gate(shape, hidden) +
         linear(std::int64_t{shape.heads} * shape.v_dim, hidden);
}

std::int64_t routed_pair_flops(const ModelPreset& preset) {
  return gated_mlp(preset.hidden, preset.expert_ffn);
}

}  // namespace

std::int64_t dense_flops_per_token(const ModelPreset& preset, int layer) {
  const std::int64_t hidden = preset.hidden;
  const auto shape =
      static_cast<std::size_t>(preset.shape_of_layer[static_cast<std::size_t>(layer)]);
  const std::int64_t attention = attention_flops(preset.shapes[shape], hidden);
  if (layer < preset.dense_layers) {
    return attention + gated_mlp(hidden, preset.dense_ffn);
  }
  return attention + linear(hidden, preset.experts) +
         preset.shared_experts * gated_mlp(hidden, preset.shared_ffn);
}

std::int64_t quadratic_flops(const AttentionShape& shape) {
  const bool quadratic = shape.kind == AttentionKind::kFull || shape.kind == AttentionKind::kMla;
  return quadratic ? std::int64_t{shape.heads} * (shape.qk_dim + shape.v_dim) : 0;
}

std::vector<AttentionStage> stages_of_model(
    const ModelPreset& preset, std::int64_t capacity_tokens, const Topology& topology
) {
  RP_ASSERT(light, capacity_tokens > 0, "the capacity is {} tokens", capacity_tokens);
  std::vector<std::int64_t> dense(preset.shapes.size(), 0);
  std::vector<std::int64_t> quadratic(preset.shapes.size(), 0);
  for (int layer = 0; layer < preset.layers; ++layer) {
    const auto shape =
        static_cast<std::size_t>(preset.shape_of_layer[static_cast<std::size_t>(layer)]);
    dense[shape] += dense_flops_per_token(preset, layer);
    quadratic[shape] += quadratic_flops(preset.shapes[shape]);
  }
  const double unit = static_cast<double>(routed_pair_flops(preset)) *
                      static_cast<double>(topology.tp) * static_cast<double>(topology.cp);
  std::vector<AttentionStage> stages;
  for (std::size_t shape = 0; shape < preset.shapes.size(); ++shape) {
    stages.push_back(
        {.name = std::string(name_of(preset.shapes[shape].kind)),
         .alpha = static_cast<double>(dense[shape]) / unit,
         .beta =
             static_cast<double>(capacity_tokens) * static_cast<double>(quadratic[shape]) / unit}
    );
  }
  return stages;
}

CostModel cost_of_model(
    const ModelPreset& preset, std::int64_t capacity_tokens, const Topology& topology
) {
  return {capacity_tokens, stages_of_model(preset, capacity_tokens, topology), 1.0 / topology.etp};
}

void check_model_of_window(const ModelPreset& preset, const WindowShape& window) {
  const int layers = preset.layers - preset.dense_layers;
  RP_CHECK(
      window.num_moe_layers() == 0 ||
          (window.num_moe_layers() == layers && window.num_experts == preset.experts &&
           window.top_k == preset.top_k),
      ErrorCode::kUsage,
      "the model {} has {} MoE layers of {} experts, top {}; the window {} has {} of {}, top {}",
      preset.name, layers, preset.experts, preset.top_k,
      window.name.empty() ? "(without a name)" : window.name, window.num_moe_layers(),
      window.num_experts, window.top_k
  );
}

std::int64_t bytes_per_expert(const ModelPreset& preset) {
  constexpr std::int64_t kBytesPerParameter = 2 + 4 + 8;
  return 3 * std::int64_t{preset.hidden} * preset.expert_ffn * kBytesPerParameter;
}

}  // namespace routepack::domain
