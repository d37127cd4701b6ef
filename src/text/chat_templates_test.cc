// SPDX-License-Identifier: Apache-2.0
// Which template of several a conversation goes through: as transformers' get_chat_template().
#include "text/chat_templates.h"

#include <gtest/gtest.h>

namespace o3::text {
namespace {

std::string rendered(const ChatTemplates& templates, nlohmann::ordered_json request) {
  RenderInput input;
  input.messages = {{"user", "hi"}};
  input.request = std::move(request);
  const auto segments = templates.render(input);
  if (!segments.ok()) return "error: " + segments.error().message;
  std::string text;
  for (const Segment& segment : *segments) text += segment.text;
  return text;
}

TEST(ChatTemplates, ToolsChooseTheTemplateForThem) {
  const auto both = ChatTemplates::parse("main", "tools: {{ tools|length }}");
  ASSERT_TRUE(both.ok()) << both.error().message;
  EXPECT_EQ(rendered(*both, nlohmann::ordered_json::object()), "main");
  EXPECT_EQ(rendered(*both, {{"tools", nullptr}}), "main");
  EXPECT_EQ(rendered(*both, {{"tools", nlohmann::ordered_json::array()}}), "tools: 0");
  EXPECT_EQ(rendered(*both, {{"tools", {{{"name", "f"}}}}}), "tools: 1");
  EXPECT_EQ(rendered(*both, {{"documents", {1}}}), "main");
}

TEST(ChatTemplates, WithoutOneForThemTheyGoThroughTheOther) {
  const auto alone = ChatTemplates::parse("main {{ tools|length }}", {});
  ASSERT_TRUE(alone.ok()) << alone.error().message;
  EXPECT_EQ(rendered(*alone, {{"tools", {{{"name", "f"}}}}}), "main 1");
}

TEST(ChatTemplates, ABrokenOneForToolsIsToldToWhoNeedsIt) {
  const auto broken = ChatTemplates::parse("main", "{% if %}");
  ASSERT_TRUE(broken.ok()) << broken.error().message;
  EXPECT_EQ(rendered(*broken, nlohmann::ordered_json::object()), "main");
  const std::string told = rendered(*broken, {{"tools", nlohmann::ordered_json::array()}});
  EXPECT_TRUE(told.starts_with("error: the template \"tool_use\": ")) << told;
  EXPECT_FALSE(ChatTemplates::parse("{% if %}", "tools").ok());
}

}  // namespace
}  // namespace o3::text
