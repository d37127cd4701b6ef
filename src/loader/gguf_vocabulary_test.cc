// SPDX-License-Identifier: Apache-2.0
#include "loader/gguf_vocabulary.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "text/gguf/tokenizer_export.h"
#include "text/hf/tokenizer_json.h"

namespace o3::loader {
namespace {

using nlohmann::json;

std::string small(const std::string& name) {
  std::ifstream file(O3_SOURCE_DIR "/tests/golden/tokenizer/small/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Result<GgufVocabulary> vocabulary_of(const std::string& text, int64_t more_rows = 0) {
  O3_ASSIGN(const auto tokenizer, text::load_tokenizer_json(text));
  return gguf_vocabulary(text, *tokenizer, Token{0}, tokenizer->vocabulary_size() + more_rows);
}

class Expressible : public testing::TestWithParam<std::pair<const char*, const char*>> {};

// What GGUF's keys say is compared with the golden ids of the tokenizer.json.
TEST_P(Expressible, SaysTheSameAsTheFile) {
  const auto& [name, pre] = GetParam();
  json file = json::parse(small(std::string(name) + ".json"));
  // GGUF has no words for added tokens that take the space around them, or are met in normalized
  // text.
  for (json& token : file["added_tokens"]) {
    for (const char* flag : {"lstrip", "rstrip", "single_word", "normalized"}) token[flag] = false;
  }
  const std::string text = file.dump();
  const auto made = vocabulary_of(text, 3);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->pre, pre);
  EXPECT_EQ(made->tokens.back(), "[PAD" + std::to_string(made->tokens.size() - 1) + "]");
  EXPECT_EQ(made->kinds.back(), static_cast<int32_t>(text::TokenKind::kUnused));
  const auto tokenizer = text::load_tokenizer_json(text);
  const auto other = text::load_tokenizer(made->spec());
  ASSERT_TRUE(tokenizer.ok() && other.ok());
  std::ifstream golden(O3_SOURCE_DIR "/tests/golden/tokenizer/small/" + std::string(name) +
                       ".jsonl");
  int lines = 0;
  for (std::string line; std::getline(golden, line); ++lines) {
    const auto string = json::parse(line)[0].get<std::string>();
    ASSERT_EQ(*(*tokenizer)->encode(string, text::SpecialTokens::kParse),
              *(*other)->encode(string, text::SpecialTokens::kParse))
        << string;
  }
  EXPECT_GE(lines, 500);
}

INSTANTIATE_TEST_SUITE_P(Each, Expressible,
                         testing::Values(std::pair("llama3", "llama-bpe"),
                                         std::pair("qwen", "qwen2")),
                         [](const auto& test) { return std::string(test.param.first); });

TEST(GgufVocabulary, WhatGgufHasNoWordsFor) {
  for (const char* name : {"bert_lower", "unigram", "unknown_characters", "falcon",
                           "sentence_piece" /* merges, but not all that its tokens allow */}) {
    const auto made = vocabulary_of(small(std::string(name) + ".json"));
    ASSERT_FALSE(made.ok()) << name;
    EXPECT_EQ(made.error().code, Code::kUnsupported) << name;
  }
}

// Scores become merges in a tokenizer.json, and these scores again.
TEST(GgufVocabulary, SentencePieces) {
  std::ifstream file(O3_SOURCE_DIR "/tests/golden/tokenizer/gguf.json");
  const json golden = json::parse(file)["vocabularies"]["llama"];
  const auto texts = golden["tokens"].get<std::vector<std::string>>();
  for (const bool prefix : {true, false}) {
    text::TokenizerSpec spec;
    spec.model = "llama";
    spec.tokens.assign(texts.begin(), texts.end());
    spec.kinds = golden["kinds"].get<std::vector<int32_t>>();
    spec.scores = golden["scores"].get<std::vector<float>>();
    spec.unknown = 0;
    spec.add_space_prefix = prefix;
    const auto exported = text::tokenizer_json(spec);
    ASSERT_TRUE(exported.ok()) << exported.error().message;
    const auto made = vocabulary_of(exported->dump());
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_EQ(made->model, "llama");
    EXPECT_EQ(made->add_space_prefix, prefix);
    EXPECT_EQ(made->tokens, texts);
    EXPECT_EQ(made->kinds, spec.kinds);
    EXPECT_EQ(made->scores.size(), texts.size());
  }
}

TEST(GgufVocabulary, TokensBeyondTheEmbeddingAreRefused) {
  const auto made = vocabulary_of(small("llama3.json"), -1);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::kInvalid);
}

}  // namespace
}  // namespace o3::loader
