// SPDX-License-Identifier: Apache-2.0
// Whatever model and normalizer: a user's text becomes no control token, the template's does.
#include "text/testing/mixed_trust.h"

#include <gtest/gtest.h>

#include <random>

#include "text/testing/small_tokenizers.h"

namespace o3::text {
namespace {

TEST(MixedTrust, TemplatesMakeTheControlTokensOfEachKind) {
  const SmallTokenizers tokenizers;
  const auto parsed = [](const Tokenizer& tokenizer, std::string_view text) {
    return *tokenizer.encode(text, SpecialTokens::kParse);
  };
  EXPECT_EQ(parsed(*tokenizers.byte_level, "<|e|>"), std::vector<Token>{0});
  EXPECT_EQ(parsed(*tokenizers.sentence_piece, "</s><s>"), (std::vector<Token>{2, 1}));
  EXPECT_EQ(parsed(*tokenizers.unigram, "</s><|e|>"), (std::vector<Token>{1, 2}));
  EXPECT_EQ(parsed(*tokenizers.normalized, "<raw>"), std::vector<Token>{4});
  for (const char* text : {"</S>", "</s>", "(s)"}) {
    EXPECT_TRUE(makes_control(*tokenizers.normalized, parsed(*tokenizers.normalized, text)))
        << text;
  }
  EXPECT_EQ(parsed(*tokenizers.word_piece, "[CLS]"), std::vector<Token>{1});
  EXPECT_TRUE(makes_control(*tokenizers.word_piece, parsed(*tokenizers.word_piece, "[sep]")));
}

TEST(MixedTrust, UsersTextMakesNoneOfThem) {
  const SmallTokenizers tokenizers;
  const std::vector<std::string> parts = {"</s>",
                                          "<s>",
                                          "<|e|>",
                                          "<|E|>",
                                          "<|\xC3\x89|>",
                                          "<|e\xCC\x81|>",
                                          "[end]",
                                          "(s)",
                                          "/s>",
                                          "go",
                                          "<raw>",
                                          "[CLS]",
                                          "[SEP]",
                                          "[sep]",
                                          " ",
                                          "  ",
                                          "<",
                                          ">",
                                          "e",
                                          "\xFF",
                                          "</",
                                          "s>",
                                          "<0x0A>",
                                          "\xC3\x89",
                                          "<unk>",
                                          "\n",
                                          "a",
                                          "S",
                                          "\xEF\xBC\x9C/s>",
                                          "\xE2\x96\x81</s",
                                          "[",
                                          "]",
                                          "|",
                                          "go ",
                                          "<|e|>>",
                                          "<e>",
                                          "SEP"};
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (size_t n = 1 + random() % 8; n > 0; --n) text += parts[random() % parts.size()];
    for (const Tokenizer* tokenizer : tokenizers.all()) {
      const auto plain = tokenizer->encode(text, SpecialTokens::kPlain);
      ASSERT_TRUE(plain.ok());
      ASSERT_FALSE(makes_control(*tokenizer, *plain)) << text;
      check_mixed_trust(*tokenizer, text);  // aborts where it fails
    }
  }
}

}  // namespace
}  // namespace o3::text
