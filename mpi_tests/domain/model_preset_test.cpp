#include "domain/model_preset.hpp"

#include <gmock/gmock.h>

#include <numeric>

#include "domain/model_cost.hpp"
#include "routepack/error.hpp"

namespace routepack {
namespace {

using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::HasSubstr;

constexpr const char* kSmall =
    "layers = 3\ndense_layers = 1\ndense_ffn = 7\nhidden = 10\nexperts = 4\ntop_k = 2\n"
    "expert_ffn = 5\ncontext_tokens = 100\nattention = full sliding\n"
    "[full]\nheads = 2\nkv_heads = 1\nqk_dim = 3\nv_dim = 3\n"
    "[sliding]\nheads = 2\nkv_heads = 1\nqk_dim = 3\nv_dim = 3\nwindow = 8\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string fault_of(const std::string& text) {
  try {
    static_cast<void>(parse_preset("small", text));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFileMalformed);
    return error.what();
  }
  return "no error";
}

TEST(ModelPreset, KnowsTheModelsOfThePaperAndOthers) {
  const std::vector<std::string> names = preset_names();
  EXPECT_EQ(names.size(), 18U);
  EXPECT_TRUE(std::ranges::is_sorted(names));
  for (const char* name :
       {"ling-3.0-tiny", "ling-3.0-flash", "gpt-oss-20b", "glm-4.5", "kimi-k2"}) {
    EXPECT_THAT(names, Contains(name));
  }
  for (const std::string& name : names) {
    const ModelPreset preset = find_preset(name);  // throws if a file is malformed
    EXPECT_EQ(preset.name, name);
    EXPECT_EQ(preset.shape_of_layer.size(), static_cast<std::size_t>(preset.layers));
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

TEST(ModelPreset, RefusesFilesThatCannotBe) {
  EXPECT_EQ(fault_of(kSmall), "no error");
  EXPECT_THAT(fault_of(replaced(kSmall, "top_k = 2\n", "")), HasSubstr("top_k"));
  EXPECT_THAT(fault_of(replaced(kSmall, "top_k = 2", "top_k = 5")), HasSubstr("above experts 4"));
  EXPECT_THAT(fault_of(replaced(kSmall, "top_k", "topk")), HasSubstr("topk"));
  EXPECT_THAT(fault_of(replaced(kSmall, "hidden = 10", "hidden = ten")), HasSubstr("hidden"));
  EXPECT_THAT(fault_of(replaced(kSmall, "hidden = 10", "hidden = 0")), HasSubstr("hidden is 0"));
  EXPECT_THAT(fault_of(replaced(kSmall, "dense_ffn = 7\n", "")), HasSubstr("dense_ffn"));
  EXPECT_THAT(fault_of(replaced(kSmall, "full sliding", "full flash")), HasSubstr("flash"));
  EXPECT_THAT(fault_of(replaced(kSmall, "window = 8\n", "")), HasSubstr("sliding.window"));
  EXPECT_THAT(fault_of(replaced(kSmall, "[full]\n", "[full]\nq_lora = 4\n")), HasSubstr("q_lora"));
  EXPECT_THAT(fault_of(replaced(kSmall, "[full]\n", "[full]\ngate = row\n")), HasSubstr("gate"));
}

TEST(ModelCost, OfASmallModelByHand) {
  const ModelPreset preset = parse_preset("small", kSmall);
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

TEST(ModelCost, OfQwen3ByHand) {
  const ModelPreset preset = find_preset("qwen3-30b-a3b");
  // Queries, keys, values 2*2048*(4096+512+512), output 2*4096*2048, router 2*2048*128.
  constexpr std::int64_t kLayer = 20'971'520 + 16'777'216 + 524'288;
  EXPECT_EQ(dense_flops_per_token(preset, 47), kLayer);
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

// Half of the FLOPs of a token in matrices is the number of their elements. With the routed
// experts and the two embeddings this must give the published size of the model; what is missing,
// norms and biases, is below a thousandth of it.
TEST(ModelCost, MatricesAddUpToThePublishedSize) {
  struct Published {
    const char* name;
    double vocabulary;
    double parameters;
  };
  for (const Published& model :
       {Published{"qwen3-30b-a3b", 151'936, 30.532e9},
        Published{"qwen3-235b-a22b", 151'936, 235.09e9},
        Published{"deepseek-v3", 129'280, 671.03e9},
        Published{"qwen3-next-80b-a3b", 151'936, 79.674e9},
        Published{"moonlight-16b-a3b", 163'840, 15.96e9}}) {
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
    EXPECT_THAT(elements, DoubleNear(model.parameters, 1e-3 * model.parameters)) << model.name;
  }
}

}  // namespace
}  // namespace routepack
