// SPDX-License-Identifier: Apache-2.0
#include "text/regex/regex.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/testing/small_stack.h"

namespace o3::text {
namespace {

using Texts = std::vector<std::string>;

Texts matches(std::string_view pattern, std::string_view text) {
  const auto regex = Regex::compile(pattern);
  if (!regex.ok()) return {regex.error().message};
  RegexScanner scanner(*regex, text);
  Texts out;
  for (auto m = scanner.next(); m.begin != RegexScanner::kNone; m = scanner.next()) {
    out.emplace_back(text.substr(m.begin, m.end - m.begin));
  }
  return out;
}

std::string refusal(std::string_view pattern) {
  const auto regex = Regex::compile(pattern);
  return regex.ok() ? "accepted" : regex.error().message;
}

TEST(Regex, AlternativesInOrder) {
  EXPECT_EQ(matches("a|ab", "ab"), Texts{"a"});
  EXPECT_EQ(matches("ab|a", "abaa"), (Texts{"ab", "a", "a"}));
  EXPECT_EQ(matches("(?:a|ab)(?:c|bcd)", "abcd"), Texts{"abcd"});
}

TEST(Regex, Quantifiers) {
  EXPECT_EQ(matches("a{1,3}", "aaaaa"), (Texts{"aaa", "aa"}));
  EXPECT_EQ(matches("a+?", "aa"), (Texts{"a", "a"}));
  EXPECT_EQ(matches("ab*?c?", "abbc"), Texts{"a"});
  EXPECT_EQ(matches("(?:ab){2,}", "ababab ab"), Texts{"ababab"});
  EXPECT_EQ(matches("[^x]?y", "xyay"), (Texts{"y", "ay"}));
  EXPECT_EQ(matches("a*", "aab"), (Texts{"aa", ""}));  // none directly after a match
}

TEST(Regex, LookAheadOfOneCharacter) {
  EXPECT_EQ(matches("\\s+(?!\\S)|\\s+", "a   b  "), (Texts{"  ", " ", "  "}));
  EXPECT_EQ(matches("\\s+$", "a  b  "), Texts{"  "});
  EXPECT_EQ(matches("a(?=b)", "aab"), Texts{"a"});
}

TEST(Regex, ClassesAndProperties) {
  EXPECT_EQ(matches("\\p{Lu}\\p{Ll}+", "\xC3\x89t\xC3\xA9 Abc"),
            (Texts{"\xC3\x89t\xC3\xA9", "Abc"}));
  EXPECT_EQ(matches("[^\\s\\p{L}\\p{N}]+", "a?! 1-"), (Texts{"?!", "-"}));
  EXPECT_EQ(matches("[a\\-\\]]+", "x-]a"), Texts{"-]a"});
  EXPECT_EQ(matches("[\xE4\xB8\x80-\xE9\xBE\xA5]+", "a\xE4\xB8\xAD\xE6\x96\x87z"),
            Texts{"\xE4\xB8\xAD\xE6\x96\x87"});
  EXPECT_EQ(matches("\\x{41}.", "A\nAb"), Texts{"Ab"});
}

TEST(Regex, CaseFolding) {
  EXPECT_EQ(matches("(?i:'s|'ll)", "'S'Ll'x'\xC5\xBF"), (Texts{"'S", "'Ll", "'\xC5\xBF"}));
  EXPECT_EQ(matches("(?i)ab", "aB"), Texts{"aB"});
}

TEST(Regex, WhatIsMissingIsRefusedByName) {
  EXPECT_NE(refusal("(?<=a)b").find("(?<="), std::string::npos);
  EXPECT_NE(refusal("\\p{Han}").find("\\p{Han}"), std::string::npos);
  EXPECT_NE(refusal("a(?=bc)").find("look-ahead of more than one"), std::string::npos);
  EXPECT_NE(refusal("\\bx").find("\\b"), std::string::npos);
  EXPECT_NE(refusal("\\s++\\n").find("possessive"), std::string::npos);
  EXPECT_EQ(refusal("[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++"), "accepted");
  EXPECT_NE(refusal("(a").find("without its )"), std::string::npos);
  EXPECT_NE(refusal("a)").find("without its ("), std::string::npos);
  EXPECT_NE(refusal("[z-a]").find("range"), std::string::npos);
  EXPECT_NE(refusal("(?:[ab]*a[ab]{14})x").find("too many states"), std::string::npos);
  EXPECT_NE(refusal("(?:((((a{99}){99}){99}){99}))").find("too large"), std::string::npos);
  EXPECT_NE(refusal("(?:aaaaaaaaaaaaa)*b").find("quadratic"), std::string::npos);
}

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST(Regex, HostilePatternsEndInAnError) {
  constexpr int kLong = 60'000;  // a pattern may have 65,536 bytes
  const std::string patterns[] = {
      repeated("(", kLong),
      repeated("(?:", 20'000),
      repeated("(?=", 20'000),
      repeated("(?!", 20'000),
      repeated("(?i:", 15'000),
      repeated("(?i)", 15'000) + "(",
      repeated("(", 30'000) + repeated(")", 30'000),
      repeated("(a|", 20'000),
      repeated("[", kLong),
      repeated("[^", 30'000),
      repeated("[a&&", 15'000),
      repeated("a?", 30'000),
      "a" + repeated("*", kLong),
      "a" + repeated("{1,2}", 60),
      "a" + repeated("{1024}", 60),
      "()" + repeated("{1024}", 60),  // nothing, very often
      "(|)" + repeated("{1024}", 60),
      "(?:)" + repeated("{0,1024}", 60),
      repeated("(", 60) + "a" + repeated("?){0,9}", 60),
      repeated("(", 60) + "()" + repeated("{2}){2}", 60),
      repeated("(", 60) + "a" + repeated(repeated("?", 60) + ")", 60) + "{99}",
      repeated("a|", 30'000) + "(",
      "a{99999999999999999999}",
      "\\x{" + repeated("F", kLong) + "}",
      "\\p{" + repeated("L", kLong),
  };
  testing::with_stack(testing::kSmallStack, [&] {
    for (const std::string& pattern : patterns) {
      EXPECT_NE(refusal(pattern), "accepted") << pattern.substr(0, 60);
    }
  });
}

// Each of these reads to the end of the text from every place, in vain.
TEST(Regex, ReadingAheadInVainIsNotQuadratic) {
  const std::string spaces(1 << 20, ' ');
  EXPECT_TRUE(matches("\\s+$", spaces + "x").empty());
  EXPECT_EQ(matches(" *x| ", spaces).size(), spaces.size());
  EXPECT_TRUE(matches("(?:  )*y", spaces).empty());
}

}  // namespace
}  // namespace o3::text
