// SPDX-License-Identifier: Apache-2.0
// A tokenizer from GGUF metadata and the one from the tokenizer.json made of it are the same.
#include "text/gguf/tokenizer_export.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "text/hf/tokenizer_json.h"
#include "text/testing/synthetic_vocabulary.h"
#include "text/white_space.h"

namespace o3::text {
namespace {

// Texts of the given pieces, in random order.
std::vector<std::string> texts_of(const std::vector<std::string>& pieces) {
  std::mt19937 random(7);
  std::vector<std::string> texts;
  for (int i = 0; i < 200; ++i) {
    std::string text;
    for (int j = 0; j < 12; ++j) text += pieces[random() % pieces.size()];
    texts.push_back(std::move(text));
  }
  return texts;
}

void expect_same(const TokenizerSpec& spec, const std::vector<std::string>& texts) {
  const auto from_gguf = load_tokenizer(spec);
  ASSERT_TRUE(from_gguf.ok()) << from_gguf.error().message;
  const auto json = tokenizer_json(spec);
  ASSERT_TRUE(json.ok()) << json.error().message;
  const auto from_json = load_tokenizer_json(json->dump(), {});
  ASSERT_TRUE(from_json.ok()) << from_json.error().message;
  EXPECT_EQ((*from_json)->vocabulary_size(), (*from_gguf)->vocabulary_size());
  EXPECT_EQ((*from_json)->adds_bos(), (*from_gguf)->adds_bos());
  for (const std::string& text : texts) {
    for (const auto specials : {SpecialTokens::kParse, SpecialTokens::kPlain}) {
      const auto ids = *(*from_gguf)->encode(text, specials);
      EXPECT_EQ(*(*from_json)->encode(text, specials), ids) << text;
      EXPECT_EQ(decode(**from_json, ids, true), decode(**from_gguf, ids, true)) << text;
    }
  }
}

TEST(TokenizerExport, ByteLevel) {
  SyntheticVocabulary vocabulary(
      {{"<|e|>", TokenKind::kControl}, {"<think>", TokenKind::kUserDefined}});
  vocabulary.merge("l", "o");
  vocabulary.merge("lo", "w");
  vocabulary.merge(" ", "low");
  vocabulary.merge("\xC3", "\xA9");
  for (const char* pre : {"smollm", "llama-bpe", "qwen2", "deepseek-v3", "falcon"}) {
    TokenizerSpec spec = vocabulary.spec();
    spec.pre = pre;
    spec.bos = 0;
    spec.add_bos = true;
    expect_same(spec, texts_of({"low", " low", "l", "\xC3\xA9", "1", "23", "<|e|>", "<think>", "\n",
                                "'s", "  ", "<", "e\xCC\x81"}));
  }
}

// Files that call the ends of turns normal tokens (text/gguf/token_kinds.h).
TEST(TokenizerExport, EndsAreSpecial) {
  SyntheticVocabulary vocabulary({{"<|e|>", TokenKind::kNormal},
                                  {"<|im_end|>", TokenKind::kNormal},
                                  {"<turn>", TokenKind::kUserDefined},
                                  {"<|eot_id|>", TokenKind::kUserDefined}});
  TokenizerSpec spec = vocabulary.spec();
  spec.eos = 0;
  spec.ends = {2};
  expect_same(spec, texts_of({"<|e|>", "<|im_end|>", "<turn>", "<|eot_id|>", "<", "a"}));
  const auto json = tokenizer_json(spec);
  ASSERT_TRUE(json.ok()) << json.error().message;
  for (const auto& token : (*json)["added_tokens"]) EXPECT_TRUE(token["special"]) << token.dump();
  EXPECT_EQ((*json)["added_tokens"].size(), 4u);
}

TEST(TokenizerExport, ScoresBecomeMerges) {
  const std::string space(kMetaspace);
  std::vector<std::string> tokens{"<unk>", "<s>", "</s>"};
  std::vector<int32_t> kinds{static_cast<int32_t>(TokenKind::kUnknown),
                             static_cast<int32_t>(TokenKind::kControl),
                             static_cast<int32_t>(TokenKind::kControl)};
  for (unsigned byte = 0; byte < 256; ++byte) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    tokens.push_back(std::string("<0x") + kDigits[byte >> 4U] + kDigits[byte & 15U] + ">");
    kinds.push_back(static_cast<int32_t>(TokenKind::kByte));
  }
  for (const char* piece : {"l", "o", "w", "e", "lo", "ow", "low", "we", "wel"}) {
    tokens.emplace_back(piece);
    kinds.push_back(static_cast<int32_t>(TokenKind::kNormal));
  }
  for (const std::string& piece : {space, space + "l", space + "lo", space + "low"}) {
    tokens.push_back(piece);
    kinds.push_back(static_cast<int32_t>(TokenKind::kNormal));
  }
  // As the converter writes user-defined runs of spaces.
  tokens.emplace_back("  ");
  kinds.push_back(static_cast<int32_t>(TokenKind::kUserDefined));
  for (const bool prefix : {true, false}) {
    TokenizerSpec spec;
    spec.model = "llama";
    spec.tokens.assign(tokens.begin(), tokens.end());
    spec.kinds = kinds;
    for (size_t id = 0; id < tokens.size(); ++id) {
      spec.scores.push_back(-static_cast<float>(tokens[id].size() % 7) - 0.01F * float(id % 13));
    }
    spec.bos = 1;
    spec.eos = 2;
    spec.unknown = 0;
    spec.add_bos = true;
    spec.add_space_prefix = prefix;
    std::vector<std::string> pieces{"low", " low", "l", "we", "wel", "o", "\xC3\xA9", "<s>", "x"};
    if (!prefix) pieces.emplace_back(" ");
    expect_same(spec, texts_of(pieces));
  }
}

TEST(TokenizerExport, WhatItCannotSayIsRefused) {
  SyntheticVocabulary vocabulary;
  TokenizerSpec spec = vocabulary.spec();
  spec.model = "bert";
  EXPECT_EQ(tokenizer_json(spec).error().code, Code::kUnsupported);
  spec = vocabulary.spec();
  spec.pre = "octopus";
  EXPECT_EQ(tokenizer_json(spec).error().code, Code::kUnsupported);
  spec = vocabulary.spec();
  spec.bos = 100000;
  EXPECT_EQ(tokenizer_json(spec).error().code, Code::kInvalid);
  spec = vocabulary.spec();
  spec.tokens[5] = spec.tokens[6];
  EXPECT_EQ(tokenizer_json(spec).error().code, Code::kUnsupported);
}

}  // namespace
}  // namespace o3::text
