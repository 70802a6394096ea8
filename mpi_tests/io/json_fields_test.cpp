#include <gtest/gtest.h>

#include "io/json_fields.hpp"
#include "io/plan_file.hpp"
#include "support/expect_error.hpp"
#include "support/temp_folder.hpp"

namespace routepack::io {
namespace {

using testing::expect_error;
using testing::TempFolder;
using testing::write_file;

std::string nested(const std::string& open, const std::string& close, int depth) {
  std::string text;
  for (int level = 0; level < depth; ++level) {
    text += open;
  }
  text += "1";
  for (int level = 0; level < depth; ++level) {
    text += close;
  }
  return text;
}

TEST(JsonFields, BoundsTheDepthWhereverItLies) {
  const TempFolder folder;
  const std::string path = folder.file("deep.json");
  constexpr int kAllowed = 64;
  for (const int depth : {kAllowed + 1, 60'000, 1'000'000}) {
    const std::string texts[] = {
        nested("{\"a\":", "}", depth), nested("[", "]", depth),
        R"({"topology": {"ep": 4, "x": )" + nested("{\"a\":", "}", depth - 2) + "}}",
        R"({"window": )" + nested("[{\"a\":", "}]", (depth + 1) / 2) + "}"};
    for (const std::string& text : texts) {
      write_file(path, text);
      expect_error(ErrorCode::kFileMalformed, path + " nests lists and objects more than 64", [&] {
        (void)JsonFields::read(path);
      });
      expect_error(ErrorCode::kFileMalformed, path, [&] { (void)read_plan(path); });
      expect_error(ErrorCode::kFileMalformed, path, [&] { (void)read_placement(path, 4); });
    }
  }
  write_file(path, nested("{\"a\":", "}", kAllowed));
  JsonFields fields = JsonFields::read(path);
  for (int level = 1; level < kAllowed; ++level) {
    fields = fields.object("a");
  }
  EXPECT_EQ(fields.integer("a", 0, 1), 1);
}

TEST(JsonFields, PartsKeepTheDocumentAlive) {
  const TempFolder folder;
  const std::string path = folder.file("a.json");
  write_file(path, R"({"outer": {"inner": {"text": "still here"}, "number": 3}})");
  const auto inner = [&] { return JsonFields::read(path).object("outer").object("inner"); };
  const JsonFields part = inner();
  EXPECT_EQ(part.text("text"), "still here");
  EXPECT_FALSE(part.has("number"));
  expect_error(ErrorCode::kFileMalformed, path + ": 'outer': 'inner'", [&] {
    (void)part.text("missing");
  });
  expect_error(ErrorCode::kFileMalformed, "expected a JSON object, found number", [&] {
    (void)JsonFields::read(path).object("outer").object("number");
  });
}

}  // namespace
}  // namespace routepack::io
