// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/scope.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "text/chat_template.h"

namespace o3::text::jinja {
namespace {

TEST(ScopeStack, FindsTheInnermostOfAName) {
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) names.push_back("n" + std::to_string(i));
  ScopeStack stack;
  for (int i = 0; i < 40; ++i) {
    stack.set(names[static_cast<size_t>(i)], Value(int64_t{i}));
    for (int k = 0; k <= i; ++k) {
      const ScopeStack::Found found = stack.find(names[static_cast<size_t>(k)]);
      ASSERT_NE(found.value, nullptr);
      EXPECT_EQ(found.value->as_int(), k);
      EXPECT_EQ(found.scopes, 1u);
    }
  }
  {
    const ScopeStack::Guard inner(stack, stack.current());
    const ScopeStack::Guard inmost(stack, stack.current());
    for (int i = 0; i < 20; ++i) stack.set(names[static_cast<size_t>(i)], Value(int64_t{-i}));
    stack.set(names[3], Value(int64_t{33}));
    EXPECT_EQ(stack.find(names[3]).value->as_int(), 33);
    EXPECT_EQ(stack.find(names[19]).value->as_int(), -19);
    EXPECT_EQ(stack.find(names[20]).value->as_int(), 20);
    EXPECT_EQ(stack.find(names[20]).scopes, 3u);
    EXPECT_EQ(stack.find("m").value, nullptr);
  }
  EXPECT_EQ(stack.find(names[3]).value->as_int(), 3);
  const ScopeStack::Guard again(stack, stack.current());  // its slot was used before
  EXPECT_EQ(stack.find(names[19]).value->as_int(), 19);
}

// What production allows; the work of each step is bounded, or this would run for a minute.
std::string rendered(const std::string& source) {
  const auto parsed = ChatTemplate::parse(source);
  if (!parsed.ok()) return parsed.error().message;
  const auto out = parsed->render({});
  if (!out.ok()) return out.error().message;
  std::string text;
  for (const Segment& segment : *out) text += segment.text;
  return text;
}

constexpr const char* kTooMany = "the chat template ran for too many steps on this input";

TEST(BoundedWork, ManyVariables) {
  std::string source;
  for (int i = 0; i < 40'000; ++i) source += "{%set v" + std::to_string(i) + "=1%}";
  source +=
      "{% for i in range(1500) %}{% for j in range(1500) %}{% set x = v39999 %}{% endfor %}"
      "{% endfor %}";
  EXPECT_NE(rendered(source).find(kTooMany), std::string::npos);
  EXPECT_EQ(rendered("{% set a = 1 %}{% for i in range(1000) %}{% set b = a %}{% endfor %}ok"),
            "ok");
}

TEST(BoundedWork, ManyAttributesOfANamespace) {
  std::string source = "{% set n = namespace(";
  for (int i = 0; i < 2'500; ++i) source += "a" + std::to_string(i) + "=1,";
  source += ") %}{% for i in range(100000) %}{{ n.a2499 and n.b }}{% endfor %}";
  EXPECT_NE(rendered(source).find(kTooMany), std::string::npos);
}

TEST(BoundedWork, ManyParameters) {
  std::string names;
  std::string arguments;
  for (int i = 0; i < 20'000; ++i) {
    names += (i > 0 ? ",p" : "p") + std::to_string(i);
    arguments += (i > 0 ? ",p" : "p") + std::to_string(19'999 - i) + "=1";
  }
  EXPECT_NE(rendered("{% macro m(" + names + ") %}{% endmacro %}{{ m(" + arguments + ") }}")
                .find(kTooMany),
            std::string::npos);
  EXPECT_NE(rendered("{% macro m(" + names +
                     ") %}{% endmacro %}{% for i in range(100000) %}"
                     "{{ m() }}{{ m.arguments and '' }}{% endfor %}")
                .find(kTooMany),
            std::string::npos);
}

TEST(BoundedWork, WidthsAtTheEndsOfTheirRange) {
  const std::string least = "(-9223372036854775807 - 1)";
  EXPECT_EQ(rendered("{{ 'ab'.zfill(" + least + ") }}"), "ab");
  EXPECT_EQ(rendered("{{ 'ab'.center(" + least + ") }}{{ 'ab'.ljust(" + least + ", '-') }}"),
            "abab");
  EXPECT_EQ(rendered("{{ 'ab'.rjust(" + least + ") }}{{ 'ab'|center(" + least + ") }}"), "abab");
  EXPECT_EQ(rendered("{{ 'ab'|indent(" + least + ", true) }}"), "ab");
  EXPECT_EQ(rendered("{{ 'ab'|batch(" + least + ", 'x')|list }}"), "[['a', 'b']]");
  EXPECT_EQ(rendered("{{ 'ab'.expandtabs(" + least + ") }}"), "ab");
  EXPECT_NE(rendered("{{ 'ab'.zfill(9223372036854775807) }}").find(kTooMany), std::string::npos);
  EXPECT_NE(rendered("{{ '%*d' % (" + least + ", 1) }}").find(kTooMany), std::string::npos);
  EXPECT_NE(rendered("{{ 'ab'.center(9223372036854775807) }}").find(kTooMany), std::string::npos);
}

}  // namespace
}  // namespace o3::text::jinja
