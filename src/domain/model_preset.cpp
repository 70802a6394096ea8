#include "domain/model_preset.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <numeric>
#include <sstream>

#include "base/check.hpp"
#include "domain/embedded_presets.hpp"

namespace routepack {
namespace {

namespace po = boost::program_options;

constexpr AttentionKind kKinds[] = {AttentionKind::kFull,          AttentionKind::kSliding,
                                    AttentionKind::kMla,           AttentionKind::kKda,
                                    AttentionKind::kGatedDeltaNet, AttentionKind::kLightning};

// The sections of the file, one a kind; `gate` is parsed afterwards.
struct Section {
  AttentionShape shape;
  std::string gate;
};

po::options_description keys_of(
    ModelPreset& preset, std::string& attention, std::vector<Section>& sections
) {
  po::options_description keys;
  auto add = keys.add_options();
  const auto required = [&add](const char* key, auto& value) {
    add(key, po::value(&value)->required());
  };
  required("layers", preset.layers);
  required("dense_layers", preset.dense_layers);
  add("dense_ffn", po::value(&preset.dense_ffn)->default_value(0));
  required("hidden", preset.hidden);
  required("experts", preset.experts);
  required("top_k", preset.top_k);
  required("expert_ffn", preset.expert_ffn);
  add("shared_experts", po::value(&preset.shared_experts)->default_value(0));
  add("shared_ffn", po::value(&preset.shared_ffn)->default_value(0));
  add("router_groups", po::value(&preset.router_groups)->default_value(1));
  add("router_groups_picked", po::value(&preset.router_groups_picked)->default_value(1));
  required("context_tokens", preset.context_tokens);
  required("attention", attention);
  for (Section& section : sections) {
    const std::string prefix = std::string(name_of(section.shape.kind)) + ".";
    const auto optional = [&add, &prefix](const char* key, int& value) {
      add((prefix + key).c_str(), po::value(&value)->default_value(0));
    };
    optional("heads", section.shape.heads);
    optional("kv_heads", section.shape.kv_heads);
    optional("qk_dim", section.shape.qk_dim);
    optional("v_dim", section.shape.v_dim);
    optional("rope_dim", section.shape.rope_dim);
    optional("q_lora", section.shape.q_lora);
    optional("kv_lora", section.shape.kv_lora);
    optional("window", section.shape.window);
    optional("conv", section.shape.conv);
    add((prefix + "gate").c_str(), po::value(&section.gate)->default_value("none"));
  }
  return keys;
}

OutputGate parse_gate(const std::string& name, const std::string& word) {
  if (word == "none") {
    return OutputGate::kNone;
  }
  if (word == "head") {
    return OutputGate::kHead;
  }
  RP_CHECK(
      word == "element", ErrorCode::kFileMalformed,
      "preset {}: gate is {}, it must be none, head or element", name, word
  );
  return OutputGate::kElement;
}

void check_size(const std::string& name, std::string_view key, std::int64_t value, bool needed) {
  constexpr std::int64_t kMaxSize = std::int64_t{1} << 24U;
  RP_CHECK(
      value >= (needed ? 1 : 0) && value <= kMaxSize, ErrorCode::kFileMalformed,
      "preset {}: {} is {}, allowed are {} to {}", name, key, value, needed ? 1 : 0, kMaxSize
  );
}

// Every size that the kind needs is there, and no other.
void check_shape(const std::string& name, const AttentionShape& shape) {
  const std::string prefix = std::string(name_of(shape.kind)) + ".";
  const bool mla = shape.kind == AttentionKind::kMla;
  const bool sliding = shape.kind == AttentionKind::kSliding;
  const bool linear = !mla && !sliding && shape.kind != AttentionKind::kFull;
  const auto check = [&](const char* key, int value, bool allowed, bool needed) {
    check_size(name, prefix + key, value, needed);
    RP_CHECK(
        allowed || value == 0, ErrorCode::kFileMalformed, "preset {}: {}{} is {}, {} has none",
        name, prefix, key, value, name_of(shape.kind)
    );
  };
  check("heads", shape.heads, true, true);
  check("kv_heads", shape.kv_heads, !mla, !mla);
  check("qk_dim", shape.qk_dim, true, true);
  check("v_dim", shape.v_dim, true, true);
  check("rope_dim", shape.rope_dim, mla, mla);
  check("q_lora", shape.q_lora, mla, false);
  check("kv_lora", shape.kv_lora, mla, mla);
  check("window", shape.window, sliding, sliding);
  check("conv", shape.conv, linear, false);
  RP_CHECK(
      !mla || shape.rope_dim < shape.qk_dim, ErrorCode::kFileMalformed,
      "preset {}: {}rope_dim is {}, it must be below qk_dim {}", name, prefix, shape.rope_dim,
      shape.qk_dim
  );
}

void check_sizes(const ModelPreset& preset) {
  const std::string& name = preset.name;
  check_size(name, "layers", preset.layers, true);
  check_size(name, "dense_layers", preset.dense_layers, false);
  check_size(name, "dense_ffn", preset.dense_ffn, preset.dense_layers > 0);
  check_size(name, "hidden", preset.hidden, true);
  check_size(name, "experts", preset.experts, true);
  check_size(name, "top_k", preset.top_k, true);
  check_size(name, "expert_ffn", preset.expert_ffn, true);
  check_size(name, "shared_experts", preset.shared_experts, false);
  check_size(name, "shared_ffn", preset.shared_ffn, preset.shared_experts > 0);
  check_size(name, "router_groups", preset.router_groups, true);
  check_size(name, "router_groups_picked", preset.router_groups_picked, true);
  check_size(name, "context_tokens", preset.context_tokens, true);
  const auto at_most = [&name](const char* key, int value, const char* limit_key, int limit) {
    RP_CHECK(
        value <= limit, ErrorCode::kFileMalformed, "preset {}: {} is {}, above {} {}", name, key,
        value, limit_key, limit
    );
  };
  at_most("dense_layers", preset.dense_layers, "layers", preset.layers);
  at_most("top_k", preset.top_k, "experts", preset.experts);
  at_most(
      "router_groups_picked", preset.router_groups_picked, "router_groups", preset.router_groups
  );
}

// `attention` lists the kinds of the first layers; the list repeats until all layers have one.
void lay_out_attention_in_place(
    ModelPreset& preset, const std::string& attention, const std::vector<Section>& sections
) {
  std::vector<int> pattern;
  std::istringstream words(attention);
  for (std::string word; words >> word;) {
    const auto section = std::ranges::find_if(sections, [&word](const Section& candidate) {
      return name_of(candidate.shape.kind) == word;
    });
    RP_CHECK(
        section != sections.end(), ErrorCode::kFileMalformed,
        "preset {}: attention names the kind {}, which is unknown", preset.name, word
    );
    const auto known = std::ranges::find(
        preset.shapes, section->shape.kind, [](const AttentionShape& shape) { return shape.kind; }
    );
    pattern.push_back(static_cast<int>(known - preset.shapes.begin()));
    if (known == preset.shapes.end()) {
      preset.shapes.push_back(section->shape);
      preset.shapes.back().gate = parse_gate(preset.name, section->gate);
      check_shape(preset.name, preset.shapes.back());
    }
  }
  RP_CHECK(
      !pattern.empty(), ErrorCode::kFileMalformed, "preset {}: attention names no kind", preset.name
  );
  for (int layer = 0; layer < preset.layers; ++layer) {
    preset.shape_of_layer.push_back(pattern[static_cast<std::size_t>(layer) % pattern.size()]);
  }
}

}  // namespace

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
  for (const EmbeddedPreset& preset : embedded_presets()) {
    names.emplace_back(preset.name);
  }
  return names;
}

ModelPreset find_preset(std::string_view name) {
  for (const EmbeddedPreset& preset : embedded_presets()) {
    if (preset.name == name) {
      return parse_preset(preset.name, preset.text);
    }
  }
  fail(
      ErrorCode::kUsage, "preset {} is unknown, there are: {}", name,
      fmt::join(preset_names(), ", ")
  );
}

ModelPreset parse_preset(std::string_view name, std::string_view text) {
  ModelPreset preset;
  preset.name = name;
  std::string attention;
  std::vector<Section> sections;
  for (const AttentionKind kind : kKinds) {
    sections.push_back({AttentionShape{.kind = kind}, {}});
  }
  const po::options_description keys = keys_of(preset, attention, sections);
  try {
    std::istringstream stream{std::string(text)};
    po::variables_map values;
    po::store(po::parse_config_file(stream, keys), values);
    po::notify(values);
  } catch (const po::error& error) {
    fail(ErrorCode::kFileMalformed, "preset {}: {}", name, error.what());
  }
  check_sizes(preset);
  lay_out_attention_in_place(preset, attention, sections);
  return preset;
}

}  // namespace routepack
