#include "domain/model.hpp"

#include <gmock/gmock.h>

#include <boost/program_options.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <sstream>

#include "routepack/error.hpp"

namespace routepack::domain {
namespace {

using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

using Keys = std::map<std::string, std::string>;

// KEY or SECTION.KEY of a file, and its value, as Boost reads them: CMake, which made the values
// under test, has its own reader.
Keys keys_of_file(const std::filesystem::path& path) {
  namespace po = boost::program_options;
  std::ifstream stream(path);
  EXPECT_TRUE(stream.is_open()) << path;
  Keys keys;
  for (const po::option& option :
       po::parse_config_file(stream, po::options_description{}, true).options) {
    EXPECT_TRUE(keys.emplace(option.string_key, option.value.at(0)).second) << option.string_key;
  }
  return keys;
}

// Takes a key out: what is left at the end is a key that nothing looked at.
std::string take(Keys& keys, const std::string& key, const std::string& otherwise) {
  const auto node = keys.extract(key);
  return node.empty() ? otherwise : node.mapped();
}

std::string_view word_of(OutputGate gate) {
  switch (gate) {
    case OutputGate::kNone:
      return "none";
    case OutputGate::kHead:
      return "head";
    case OutputGate::kElement:
      return "element";
  }
  return "";
}

void expect_shape(const AttentionShape& shape, Keys& keys) {
  const std::string section = std::string(name_of(shape.kind)) + ".";
  const auto expect = [&](const char* key, int value) {
    EXPECT_EQ(std::to_string(value), take(keys, section + key, "0")) << section << key;
  };
  expect("heads", shape.heads);
  expect("kv_heads", shape.kv_heads);
  expect("qk_dim", shape.qk_dim);
  expect("v_dim", shape.v_dim);
  expect("rope_dim", shape.rope_dim);
  expect("q_lora", shape.q_lora);
  expect("kv_lora", shape.kv_lora);
  expect("window", shape.window);
  expect("conv", shape.conv);
  EXPECT_EQ(word_of(shape.gate), take(keys, section + "gate", "none")) << section;
}

void expect_attention(const ModelPreset& preset, Keys& keys) {
  std::istringstream stream(take(keys, "attention", ""));
  const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  ASSERT_FALSE(words.empty());
  ASSERT_EQ(preset.shape_of_layer.size(), static_cast<std::size_t>(preset.layers));
  std::vector<int> seen;
  for (std::size_t layer = 0; layer < preset.shape_of_layer.size(); ++layer) {
    const int index = preset.shape_of_layer[layer];
    const AttentionShape& shape = preset.shapes.at(static_cast<std::size_t>(index));
    EXPECT_EQ(name_of(shape.kind), words[layer % words.size()]) << "layer " << layer;
    if (std::ranges::find(seen, index) == seen.end()) {
      EXPECT_EQ(index, static_cast<int>(seen.size())) << "kinds in the order of their layers";
      seen.push_back(index);
      expect_shape(shape, keys);
    }
  }
  EXPECT_EQ(seen.size(), preset.shapes.size());
}

TEST(ModelPreset, IsThereForEveryFile) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(ROUTEPACK_CONFIGS)) {
    if (entry.path().extension() == ".cfg" && entry.path().stem() != "default") {
      files.push_back(entry.path().stem().string());
    }
  }
  EXPECT_THAT(preset_names(), UnorderedElementsAreArray(files));
}

// Names of tests have no '-' or '.'.
std::string test_name(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return c == '-' || c == '.'; }, '_'
  );
  return name;
}

class PresetOfFile : public ::testing::TestWithParam<std::string> {};

TEST_P(PresetOfFile, HasTheValuesOfTheFile) {
  const std::string& name = GetParam();
  const ModelPreset preset = find_preset(name);
  Keys keys = keys_of_file(std::filesystem::path(ROUTEPACK_CONFIGS) / (name + ".cfg"));
  const auto expect = [&](const char* key, std::int64_t value, const char* otherwise) {
    EXPECT_EQ(std::to_string(value), take(keys, key, otherwise)) << key;
  };
  EXPECT_EQ(preset.name, name);
  expect("layers", preset.layers, "missing");
  expect("dense_layers", preset.dense_layers, "missing");
  expect("dense_ffn", preset.dense_ffn, "0");
  expect("hidden", preset.hidden, "missing");
  expect("experts", preset.experts, "missing");
  expect("top_k", preset.top_k, "missing");
  expect("expert_ffn", preset.expert_ffn, "missing");
  expect("shared_experts", preset.shared_experts, "0");
  expect("shared_ffn", preset.shared_ffn, "0");
  expect("router_groups", preset.router_groups, "1");
  expect("router_groups_picked", preset.router_groups_picked, "1");
  expect("context_tokens", preset.context_tokens, "missing");
  expect_attention(preset, keys);
  EXPECT_THAT(keys, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    ModelPreset,
    PresetOfFile,
    ::testing::ValuesIn(preset_names()),
    [](const auto& preset) { return test_name(preset.param); }
);

TEST(ModelPreset, KnowsTheModelsOfThePaperAndOthers) {
  const std::vector<std::string> names = preset_names();
  EXPECT_EQ(names.size(), 18U);
  EXPECT_TRUE(std::ranges::is_sorted(names));
  for (const char* name :
       {"ling-3.0-tiny", "ling-3.0-flash", "gpt-oss-20b", "glm-4.5", "kimi-k2"}) {
    EXPECT_THAT(names, Contains(name));
  }
  for (const std::string& name : names) {
    const ModelPreset preset = find_preset(name);
    EXPECT_EQ(preset.experts % preset.router_groups, 0) << name;
  }
}

TEST(ModelPreset, LaysOutTheHybridsOfThePaper) {
  const ModelPreset tiny = find_preset("ling-3.0-tiny");
  EXPECT_EQ(tiny.moe_layers().size(), 23U);
  EXPECT_EQ(tiny.moe_layers().front(), 1);
  ASSERT_EQ(tiny.shapes.size(), 2U);
  EXPECT_EQ(tiny.shapes[1].kind, AttentionKind::kMla);
  EXPECT_EQ(std::accumulate(tiny.shape_of_layer.begin(), tiny.shape_of_layer.end(), 0), 6);
  const ModelPreset flash = find_preset("ling-3.0-flash");
  EXPECT_EQ(flash.moe_layers().size(), 40U);
  EXPECT_EQ(std::accumulate(flash.shape_of_layer.begin(), flash.shape_of_layer.end(), 0), 7);
  EXPECT_EQ(flash.shape_of_layer[41], 1);
}

TEST(ModelPreset, UnknownNameListsTheOthers) {
  try {
    static_cast<void>(find_preset("ling-4"));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("ling-3.0-tiny"));
  }
}

TEST(ModelCost, OfASmallModelByHand) {
  const ModelPreset preset{
      .name = "small",
      .layers = 3,
      .dense_layers = 1,
      .dense_ffn = 7,
      .hidden = 10,
      .experts = 4,
      .top_k = 2,
      .expert_ffn = 5,
      .context_tokens = 100,
      .shapes =
          {{.kind = AttentionKind::kFull, .heads = 2, .kv_heads = 1, .qk_dim = 3, .v_dim = 3},
           {.kind = AttentionKind::kSliding,
            .heads = 2,
            .kv_heads = 1,
            .qk_dim = 3,
            .v_dim = 3,
            .window = 8}},
      .shape_of_layer = {0, 1, 0}};
  // Projections 2*10*(6+3+3) + output 2*6*10 = 360; a window adds 2*2*(3+3)*8 = 192.
  // Dense MLP 6*10*7 = 420; router 2*10*4 = 80.
  EXPECT_EQ(dense_flops_per_token(preset, 0), 360 + 420);
  EXPECT_EQ(dense_flops_per_token(preset, 1), 360 + 192 + 80);
  EXPECT_EQ(dense_flops_per_token(preset, 2), 360 + 80);
  const Topology topology{.dp = 2, .ep = 2, .tp = 2};
  const std::vector<AttentionStage> stages = stages_of_model(preset, 100, topology);
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_EQ(stages[0].name, "full");
  // 6*h*f = 300, over tp = 2.
  EXPECT_DOUBLE_EQ(stages[0].alpha, (780.0 + 440.0) / 600.0);
  EXPECT_DOUBLE_EQ(stages[0].beta, 100.0 * (2 * 2 * 6) / 600.0);
  EXPECT_EQ(stages[1].name, "sliding");
  EXPECT_DOUBLE_EQ(stages[1].alpha, 632.0 / 600.0);
  EXPECT_EQ(stages[1].beta, 0.0);
  EXPECT_EQ(bytes_per_expert(preset), 3 * 10 * 5 * 14);
}

TEST(ModelCost, KnowsTheWindowsOfItsModel) {
  const ModelPreset preset = find_preset("qwen3-30b-a3b");
  WindowShape window;
  check_model_of_window(preset, window);  // lengths alone
  window.moe_layers = preset.moe_layers();
  window.num_experts = 128;
  window.top_k = 8;
  check_model_of_window(preset, window);
  const auto refuses = [&](const WindowShape& other) {
    try {
      check_model_of_window(preset, other);
    } catch (const Error& error) {
      return error.code() == ErrorCode::kUsage &&
             std::string(error.what()).find("qwen3-30b-a3b has 48 MoE layers of 128 experts") !=
                 std::string::npos;
    }
    return false;
  };
  WindowShape other = window;
  other.moe_layers.pop_back();
  EXPECT_TRUE(refuses(other));
  other = window;
  other.num_experts = 64;
  EXPECT_TRUE(refuses(other));
  other = window;
  other.top_k = 4;
  EXPECT_TRUE(refuses(other));
}

TEST(ModelCost, OfQwen3ByHand) {
  const ModelPreset preset = find_preset("qwen3-30b-a3b");
  // Queries, keys, values 2*2048*(4096+512+512), output 2*4096*2048, router 2*2048*128.
  constexpr std::int64_t kLayer = 20'971'520 + 16'777'216 + 524'288;
  EXPECT_EQ(dense_flops_per_token(preset, 47), kLayer);
  const CostModel cost =
      cost_of_model(preset, 32'768, Topology{.dp = 4, .ep = 4, .tp = 2, .etp = 2});
  EXPECT_EQ(cost.expert_weight, 0.5);
  EXPECT_EQ(cost.capacity_tokens, 32'768);
  EXPECT_EQ(
      cost.stages, stages_of_model(preset, 32'768, Topology{.dp = 4, .ep = 4, .tp = 2, .etp = 2})
  );
  const std::vector<AttentionStage> stages = stages_of_model(preset, 32'768, Topology{});
  ASSERT_EQ(stages.size(), 1U);
  constexpr double kPair = 6.0 * 2048 * 768;
  EXPECT_DOUBLE_EQ(stages[0].alpha, 48.0 * kLayer / kPair);
  EXPECT_DOUBLE_EQ(stages[0].beta, 32'768.0 * 48 * 32 * 256 / kPair);
  EXPECT_EQ(bytes_per_expert(preset), 63LL << 20U);
}

TEST(ModelCost, OfLingTinyByHand) {
  const ModelPreset preset = find_preset("ling-3.0-tiny");
  // KDA, width 2048 = 16*128: q k v f g 5*2*1536*2048, beta 2*1536*16, convolution 2*4*3*2048,
  // state 7*16*128*128, output 2*2048*1536.
  constexpr std::int64_t kKda = 31'457'280 + 49'152 + 49'152 + 1'835'008 + 6'291'456;
  // MLA: 2*1536*256 + 2*256*16*192, 2*1536*(512+64), 2*512*16*(128+128), gate 2*1536*16, output.
  constexpr std::int64_t kMla = 786'432 + 1'572'864 + 1'769'472 + 4'194'304 + 49'152 + 6'291'456;
  constexpr std::int64_t kMoe = 393'216 + 4'718'592;  // router 2*1536*128, shared 6*1536*512
  EXPECT_EQ(dense_flops_per_token(preset, 0), kKda + 42'467'328);  // dense MLP 6*1536*4608
  EXPECT_EQ(dense_flops_per_token(preset, 1), kKda + kMoe);
  EXPECT_EQ(dense_flops_per_token(preset, 3), kMla + kMoe);
  const std::vector<AttentionStage> stages = stages_of_model(preset, 8192, Topology{});
  ASSERT_EQ(stages.size(), 2U);
  constexpr double kPair = 6.0 * 1536 * 512;
  EXPECT_THAT(stages[0].alpha, DoubleNear((18.0 * kKda + 17 * kMoe + 42'467'328) / kPair, 1e-9));
  EXPECT_EQ(stages[0].beta, 0.0);
  EXPECT_THAT(stages[1].alpha, DoubleNear(6.0 * (kMla + kMoe) / kPair, 1e-9));
  EXPECT_THAT(stages[1].beta, DoubleNear(8192.0 * 6 * 16 * (192 + 128) / kPair, 1e-9));
}

struct Published {
  const char* name;
  double vocabulary;
  double parameters;
};

void PrintTo(const Published& model, std::ostream* out) { *out << model.name; }

class PublishedSize : public ::testing::TestWithParam<Published> {};

// Half of the FLOPs of a token in matrices is the number of their elements. With the routed
// experts and the two embeddings this must give the published size of the model; what is missing,
// norms and biases, is below a thousandth of it.
TEST_P(PublishedSize, IsWhatTheMatricesAddUpTo) {
  const Published& model = GetParam();
  const ModelPreset preset = find_preset(model.name);
  double elements = 2.0 * model.vocabulary * preset.hidden;
  for (int layer = 0; layer < preset.layers; ++layer) {
    const auto index =
        static_cast<std::size_t>(preset.shape_of_layer[static_cast<std::size_t>(layer)]);
    const AttentionShape& shape = preset.shapes[index];
    const bool delta = shape.kind == AttentionKind::kGatedDeltaNet;
    const double state = delta ? 7.0 * shape.heads * shape.qk_dim * shape.v_dim : 0.0;
    elements += (static_cast<double>(dense_flops_per_token(preset, layer)) - state) / 2;
  }
  elements += static_cast<double>(preset.moe_layers().size()) * 3.0 * preset.experts *
              preset.hidden * preset.expert_ffn;
  EXPECT_THAT(elements, DoubleNear(model.parameters, 1e-3 * model.parameters));
}

INSTANTIATE_TEST_SUITE_P(
    ModelCost,
    PublishedSize,
    ::testing::Values(
        Published{"qwen3-30b-a3b", 151'936, 30.532e9},
        Published{"qwen3-235b-a22b", 151'936, 235.09e9},
        Published{"deepseek-v3", 129'280, 671.03e9},
        Published{"qwen3-next-80b-a3b", 151'936, 79.674e9},
        Published{"moonlight-16b-a3b", 163'840, 15.96e9}
    ),
    [](const auto& model) { return test_name(model.param.name); }
);

}  // namespace
}  // namespace routepack::domain
