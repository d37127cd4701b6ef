// SPDX-License-Identifier: Apache-2.0
#include "text/hf/json_tree.h"

#include <gtest/gtest.h>

#include <string>

#include "base/testing/small_stack.h"

namespace o3::text {
namespace {

TEST(JsonTree, ReadsEveryKind) {
  const std::string text =
      R"( {"a": [1, -2.5e1, true, false, null, "x\u00e9\ud83d\ude00\n\\"], "b": {}, "c": [[]]} )";
  const auto tree = JsonTree::parse(text);
  ASSERT_TRUE(tree.ok()) << tree.error().message;
  const JsonValue root = tree->root();
  EXPECT_EQ(root.size(), 3u);
  const auto a = root.find("a");
  ASSERT_TRUE(a && a->is_array());
  auto at = a->begin();
  EXPECT_EQ((*at).integer(), 1);
  EXPECT_EQ((*++at).number(), -25.0);
  EXPECT_FALSE((*at).integer().has_value());
  EXPECT_EQ((*++at).boolean(), true);
  EXPECT_EQ((*++at).boolean(), false);
  EXPECT_TRUE((*++at).is_null());
  EXPECT_EQ((*++at).string(), "x\xC3\xA9\xF0\x9F\x98\x80\n\\");
  EXPECT_EQ(++at, a->end());
  EXPECT_EQ(root.find("b")->begin(), root.find("b")->end());
  EXPECT_TRUE((*root.find("c")->begin()).is_array());
  EXPECT_FALSE(root.find("d").has_value());
}

TEST(JsonTree, RefusesWhatIsNotJson) {
  for (const char* text :
       {"",         " ",  "{",   "[1,]", "[1 2]",      "{\"a\"}",  "{\"a\":}",    "{a:1}",
        "01",       "1.", "-",   "+1",   "1e",         "\"\\x\"",  "\"\\ud800\"", "\"\\udc00\"",
        "\"a\nb\"", "\"", "nul", "[]]",  "{\"a\":1,}", "\"\xFF\"", "[1}"}) {
    EXPECT_FALSE(JsonTree::parse(text).ok()) << text;
  }
  const std::string deep(65, '[');
  EXPECT_FALSE(JsonTree::parse(deep + std::string(65, ']')).ok());
  testing::with_stack(testing::kSmallStack, [] {
    EXPECT_FALSE(JsonTree::parse(std::string(1 << 20, '[')).ok());
    std::string objects;
    for (int i = 0; i < 100'000; ++i) objects += R"({"a":)";
    EXPECT_FALSE(JsonTree::parse(objects).ok());
  });
}

}  // namespace
}  // namespace o3::text
