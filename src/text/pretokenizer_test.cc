// SPDX-License-Identifier: Apache-2.0
#include "text/pretokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace o3::text {
namespace {

using Pieces = std::vector<std::string>;

Pieces pieces(std::string_view text) {
  Pieces out;
  while (!text.empty()) {
    const size_t length = first_piece_smollm(text);
    out.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return out;
}

TEST(Smollm, WordsTakeOneSpaceBefore) {
  EXPECT_EQ(pieces("Hello world!"), (Pieces{"Hello", " world", "!"}));
  EXPECT_EQ(pieces(" ?x"), (Pieces{" ?", "x"}));
  EXPECT_EQ(pieces("\tx"), (Pieces{"\t", "x"}));
}

TEST(Smollm, RunsOfWhiteSpaceLeaveTheLastToTheNextPiece) {
  EXPECT_EQ(pieces("a   b"), (Pieces{"a", "  ", " b"}));
  EXPECT_EQ(pieces("a\n\nb"), (Pieces{"a", "\n", "\n", "b"}));
  EXPECT_EQ(pieces("a  "), (Pieces{"a", "  "}));
  EXPECT_EQ(pieces(" \xE3\x80\x80 b"), (Pieces{" \xE3\x80\x80", " b"}));
  EXPECT_EQ(pieces("a\xC2\x85 \xC2\xA0z"), (Pieces{"a", "\xC2\x85 ", "\xC2\xA0", "z"}));
}

TEST(Smollm, EveryNumberCharacterStandsAlone) {
  EXPECT_EQ(pieces("a12"), (Pieces{"a", "1", "2"}));
  // The text is cut before a number, so the white space before it is not shared out.
  EXPECT_EQ(pieces("a   12"), (Pieces{"a", "   ", "1", "2"}));
  EXPECT_EQ(pieces("x \xC2\xBD\xE2\x85\xA7y"), (Pieces{"x", " ", "\xC2\xBD", "\xE2\x85\xA7", "y"}));
  EXPECT_EQ(pieces("\xE0\xA5\xA6\xD9\xA0"), (Pieces{"\xE0\xA5\xA6", "\xD9\xA0"}));
}

TEST(Smollm, ContractionsAreLowerCaseOnly) {
  EXPECT_EQ(pieces("it's we'll I'd"), (Pieces{"it", "'s", " we", "'ll", " I", "'d"}));
  EXPECT_EQ(pieces("IT'S"), (Pieces{"IT", "'", "S"}));
  EXPECT_EQ(pieces(" 's"), (Pieces{" '", "s"}));  // the space takes the apostrophe first
  EXPECT_EQ(pieces("''s"), (Pieces{"''", "s"}));
  EXPECT_EQ(pieces("'stop 'rest"), (Pieces{"'s", "top", " '", "rest"}));
  EXPECT_EQ(pieces("'"), (Pieces{"'"}));
}

TEST(Smollm, CombiningMarksAreNotLetters) {
  EXPECT_EQ(pieces("e\xCC\x81"
                   "cole"),
            (Pieces{"e", "\xCC\x81", "cole"}));
}

TEST(Pretokenizer, UnknownNamesAreRefusedWithTheKnownOnes) {
  EXPECT_TRUE(pretokenizer("smollm").ok());
  const auto refused = pretokenizer("llama-bpe");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUnsupported);
  EXPECT_NE(refused.error().message.find("known: smollm"), std::string::npos);
}

}  // namespace
}  // namespace o3::text
