// What CMake makes of a preset's file, and which files it refuses: the check of configs/*.cfg runs
// when the project is configured, here alone.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cstdlib>
#include <sstream>

#include "support/temp_folder.hpp"

namespace routepack::domain {
namespace {

using ::testing::HasSubstr;
using testing::read_file;
using ::testing::StartsWith;
using testing::TempFolder;
using testing::write_file;

constexpr const char* kSmall =
    "layers = 3\ndense_layers = 1\ndense_ffn = 7\nhidden = 10\nexperts = 4\ntop_k = 2\n"
    "expert_ffn = 5\ncontext_tokens = 100\nattention = full sliding\n"
    "[full]\nheads = 2\nkv_heads = 1\nqk_dim = 3\nv_dim = 3\n"
    "[sliding]\nheads = 2\nkv_heads = 1\nqk_dim = 3\nv_dim = 3\nwindow = 8\n";
constexpr const char* kLatent =
    "layers = 1\ndense_layers = 0\nhidden = 10\nexperts = 4\ntop_k = 2\nexpert_ffn = 5\n"
    "context_tokens = 100\nattention = mla\n"
    "[mla]\nheads = 2\nqk_dim = 4\nv_dim = 3\nrope_dim = 2\nkv_lora = 6\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// "ok: " or "refused: " and what CMake wrote, with its line breaks as spaces.
std::string verdict_on(const std::string& text) {
  const TempFolder folder;
  write_file(folder.file("small.cfg"), text);
  const std::string command = "cd " + folder.path() +
                              " && " ROUTEPACK_CMAKE " -D FILE=small.cfg -P " ROUTEPACK_READ_PRESET
                              " >out 2>&1";
  const int status = std::system(command.c_str());
  EXPECT_TRUE(WIFEXITED(status));
  std::istringstream words(read_file(folder.file("out")));
  std::string verdict = WEXITSTATUS(status) == 0 ? "ok:" : "refused:";
  for (std::string word; words >> word;) {
    verdict += " " + word;
  }
  return verdict;
}

TEST(PresetFiles, BecomeValues) {
  EXPECT_EQ(
      verdict_on(kSmall),
      "ok: {.name = \"small\", .layers = 3, .dense_layers = 1, .dense_ffn = 7, .hidden = 10, "
      ".experts = 4, .top_k = 2, .expert_ffn = 5, .shared_experts = 0, .shared_ffn = 0, "
      ".router_groups = 1, .router_groups_picked = 1, .context_tokens = 100, .shapes = {"
      "AttentionShape{.kind = AttentionKind::kFull, .heads = 2, .kv_heads = 1, .qk_dim = 3, "
      ".v_dim = 3, .gate = OutputGate::kNone}, "
      "AttentionShape{.kind = AttentionKind::kSliding, .heads = 2, .kv_heads = 1, .qk_dim = 3, "
      ".v_dim = 3, .window = 8, .gate = OutputGate::kNone}, }, .shape_of_layer = {0, 1, 0, }}"
  );
}

TEST(PresetFiles, MayHaveCommentsSpacesAndAnyOrder) {
  const std::string plain = verdict_on(kSmall);
  EXPECT_EQ(
      verdict_on(replaced(kSmall, "layers = 3\n", "# [a; b\n\n\tlayers\t=3  # three\r\n")), plain
  );
  const std::string model = "layers = 3\n";
  EXPECT_EQ(verdict_on(replaced(replaced(kSmall, model, ""), "[full]", model + "[full]")), plain);
  EXPECT_THAT(
      verdict_on(kLatent), HasSubstr("kMla, .heads = 2, .qk_dim = 4, .v_dim = 3, "
                                     ".rope_dim = 2, .q_lora = 0, .kv_lora = 6, ")
  );
}

// `part` replaced in a good file; CMake must refuse the file and say `why`, after the file's name.
struct Fault {
  const char* part;
  const char* with;
  const char* why;
};

void expect_refused(const char* good, const std::vector<Fault>& faults) {
  for (const Fault& fault : faults) {
    const std::string verdict = verdict_on(replaced(good, fault.part, fault.with));
    EXPECT_THAT(verdict, StartsWith("refused: ")) << fault.with;
    EXPECT_THAT(verdict, HasSubstr(std::string("small.cfg: ") + fault.why)) << fault.with;
  }
}

TEST(PresetFiles, MissingAndUnknownKeysAreRefused) {
  expect_refused(
      kSmall, {{"top_k = 2\n", "", "top_k is missing"},
               {"top_k", "topk", "topk is no key"},
               {"dense_ffn = 7\n", "", "dense_ffn is missing"},
               {"dense_ffn = 7\n", "shared_experts = 1\ndense_ffn = 7\n", "shared_ffn is missing"},
               {"attention = full sliding\n", "", "attention is missing"},
               {"full sliding", "full flash", "attention names the kind flash"},
               {"full sliding", "full", "sliding.heads is no key"},
               {"[full]\n", "[mla]\n[full]\n", "the section mla is of no kind"},
               {"window = 8\n", "", "sliding.window is missing"},
               {"[full]\n", "[full]\nq_lora = 4\n", "full.q_lora is no key"},
               {"[full]\n", "[full]\nwindow = 0\n", "full.window is no key"},
               {"hidden = 10\n", "hidden = 10\nhidden = 10\n", "hidden stands twice"},
               {"[sliding]", "[full]", "the section full stands twice"}}
  );
}

TEST(PresetFiles, ValuesOutOfRangeAreRefused) {
  expect_refused(
      kSmall,
      {{"top_k = 2", "top_k = 5", "top_k is 5, it must be at most experts 4"},
       {"dense_layers = 1", "dense_layers = 4", "dense_layers is 4, it must be at most layers 3"},
       {"hidden = 10\n", "hidden = 10\nrouter_groups_picked = 2\n", "router_groups_picked is 2"},
       {"hidden = 10", "hidden = ten", "hidden is \"ten\""},
       {"hidden = 10", "hidden = 1e3", "hidden is \"1e3\""},
       {"hidden = 10", "hidden = 010", "hidden is \"010\""},
       {"hidden = 10", "hidden = 1.5", "hidden is \"1.5\""},
       {"hidden = 10", "hidden = 10 10", "hidden is \"10 10\""},
       {"hidden = 10", "hidden = 0", "hidden is 0, allowed are 1 to 16777216"},
       {"hidden = 10", "hidden = -1", "hidden is -1, allowed"},
       {"hidden = 10", "hidden = 16777217", "hidden is 16777217, allowed"},
       {"hidden = 10", "hidden = 18446744073709551617", "hidden is 18446744073709551617, allowed"},
       {"dense_layers = 1", "dense_layers = -1", "dense_layers is -1, allowed are 0"},
       {"heads = 2", "heads = 0", "full.heads is 0, allowed are 1"},
       {"[full]\n", "[full]\ngate = row\n", "full.gate is row, it must be none, head or element"}}
  );
  expect_refused(
      kLatent,
      {{"rope_dim = 2", "rope_dim = 4", "mla.rope_dim is 4, it must be below mla.qk_dim 4"},
       {"kv_lora = 6\n", "", "mla.kv_lora is missing"},
       {"v_dim = 3\n", "v_dim = 3\nkv_heads = 1\n", "mla.kv_heads is no key"}}
  );
}

TEST(PresetFiles, LinesThatAreNoneAreRefused) {
  expect_refused(
      kSmall, {{"hidden = 10", "hidden", "the line \"hidden\" is neither"},
               {"hidden = 10", "hidden =", "the line \"hidden =\" is neither"},
               {"[full]", "[full", "the line \"<full\" is neither"},
               {"hidden = 10", "hidden = 10; layers = 2", "the character ;"},
               {"hidden = 10", "hidden = \"10\"", "the character \""},
               {"hidden = 10", "hidden = ${layers}", "the character $"}}
  );
}

}  // namespace
}  // namespace routepack::domain
