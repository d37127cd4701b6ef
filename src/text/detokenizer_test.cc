// SPDX-License-Identifier: Apache-2.0
#include "text/detokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "text/unicode/utf8.h"

namespace o3::text {
namespace {

constexpr std::string_view kFffd = kReplacementCharacter;

std::string whole(std::string_view bytes) {
  Utf8Stream stream;
  std::string out;
  stream.push(bytes, out);
  stream.flush(out);
  return out;
}

// All proper prefixes of well-formed sequences and the sequences themselves, from the encodings of
// all scalar values: the definition of Table 3-7, not its rows.
class Prefixes {
 public:
  Prefixes() : three_(1u << 24) {
    std::string text;
    for (char32_t code = 0; code <= 0x10FFFF; ++code) {
      if (code >= 0xD800 && code <= 0xDFFF) continue;
      text.clear();
      append_utf8(code, text);
      for (size_t n = 1; n <= std::min<size_t>(text.size(), 3); ++n) mark(text, n, text.size());
    }
  }
  // The length of the sequence that the first n (<= 3) bytes begin, 0 if none.
  size_t sequence(std::string_view s, size_t n) const { return table(n)[key(s, n)]; }

 private:
  static size_t key(std::string_view s, size_t n) {
    size_t value = 0;
    for (size_t i = 0; i < n; ++i) value = value << 8 | static_cast<uint8_t>(s[i]);
    return value;
  }
  const std::vector<uint8_t>& table(size_t n) const {
    return n == 1 ? one_ : n == 2 ? two_ : three_;
  }
  void mark(std::string_view s, size_t n, size_t length) {
    auto& at = n == 1 ? one_ : n == 2 ? two_ : three_;
    at[key(s, n)] = static_cast<uint8_t>(length);
  }
  std::vector<uint8_t> one_ = std::vector<uint8_t>(256);
  std::vector<uint8_t> two_ = std::vector<uint8_t>(65536);
  std::vector<uint8_t> three_;
};

// The first unit read literally: the longest prefix that begins a well-formed sequence, or one
// byte if there is none.
Utf8Unit reference(const Prefixes& prefixes, std::string_view s) {
  const size_t length = prefixes.sequence(s, 1);
  if (length == 0) return {0xFFFD, 1, false, false};
  size_t taken = 1;
  while (taken < std::min<size_t>(s.size(), 3) && taken < length &&
         prefixes.sequence(s, taken + 1) == length) {
    ++taken;
  }
  // A fourth byte is free: three good ones leave all of 80..BF.
  if (taken == 3 && length == 4 && s.size() > 3 && (static_cast<uint8_t>(s[3]) & 0xC0) == 0x80) {
    taken = 4;
  }
  const bool whole_sequence = taken == length;
  return {0, static_cast<uint8_t>(taken), whole_sequence, !whole_sequence && taken == s.size()};
}

bool agree(const Prefixes& prefixes, std::string_view s) {
  const Utf8Unit ours = next_utf8_unit(s);
  const Utf8Unit theirs = reference(prefixes, s);
  return ours.bytes == theirs.bytes && ours.well_formed == theirs.well_formed &&
         ours.truncated == theirs.truncated;
}

TEST(Utf8, AgreesWithTheDefinitionOnEveryInputOfUpToFourBytes) {
  const Prefixes prefixes;
  std::array<char, 4> s{};
  for (unsigned a = 0; a < 256; ++a) {
    s[0] = static_cast<char>(a);
    ASSERT_TRUE(agree(prefixes, {s.data(), 1})) << a;
    for (unsigned b = 0; b < 256; ++b) {
      s[1] = static_cast<char>(b);
      ASSERT_TRUE(agree(prefixes, {s.data(), 2})) << a << ' ' << b;
      for (unsigned c = 0; c < 256; ++c) {
        s[2] = static_cast<char>(c);
        ASSERT_TRUE(agree(prefixes, {s.data(), 3})) << a << ' ' << b << ' ' << c;
        // Only after a lead of four bytes does the fourth matter, and there only its class.
        if (a < 0xF0) continue;
        for (const unsigned d : {0x00u, 0x7Fu, 0x80u, 0xBFu, 0xC0u, 0xFFu}) {
          s[3] = static_cast<char>(d);
          ASSERT_TRUE(agree(prefixes, {s.data(), 4})) << a << ' ' << b << ' ' << c << ' ' << d;
        }
      }
    }
  }
}

TEST(Utf8Stream, EveryScalarValuePassesUnchanged) {
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    std::string text;
    append_utf8(code, text);
    const Utf8Unit unit = next_utf8_unit(text);
    ASSERT_TRUE(unit.well_formed && unit.code == code && unit.bytes == text.size())
        << static_cast<uint32_t>(code);
  }
}

// The examples of the standard, Tables 3-8 to 3-11, "." standing for U+FFFD.
TEST(Utf8Stream, ReplacesAsTheStandardShows) {
  const auto shown = [](std::string_view bytes) {
    std::string out = whole(bytes);
    for (size_t at = 0; (at = out.find(kFffd)) != std::string::npos;) out.erase(at, 2)[at] = '.';
    return out;
  };
  EXPECT_EQ(shown("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), "........A");
  EXPECT_EQ(shown("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), "........A");
  EXPECT_EQ(shown("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"), ".....A..B");
  EXPECT_EQ(shown("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), "....A");
}

TEST(Utf8Stream, EverySplitGivesTheSameTextAndNeverHalfACodePoint) {
  const std::string text =
      "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xF0\x9F\x98z\xED\xA0\x80\xE2\x82\xF4\x90\xC3";
  const std::string expected = whole(text);
  for (size_t i = 0; i <= text.size(); ++i) {
    for (size_t j = i; j <= text.size(); ++j) {
      Utf8Stream stream;
      std::string out;
      for (const std::string& part : {text.substr(0, i), text.substr(i, j - i), text.substr(j)}) {
        stream.push(part, out);
        ASSERT_TRUE(is_utf8(out));
      }
      stream.flush(out);
      ASSERT_EQ(out, expected) << i << ' ' << j;
    }
  }
}

TEST(Utf8Stream, EmitsACodePointWithItsLastByte) {
  Utf8Stream stream;
  std::string out;
  stream.push("\xF0\x9F\x98", out);
  EXPECT_EQ(out, "");
  stream.push("\x80", out);
  EXPECT_EQ(out, "\xF0\x9F\x98\x80");
  stream.push("\xE2\x82", out);
  stream.flush(out);
  stream.flush(out);
  EXPECT_EQ(out, "\xF0\x9F\x98\x80\xEF\xBF\xBD");
}

}  // namespace
}  // namespace o3::text
