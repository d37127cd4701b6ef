// SPDX-License-Identifier: Apache-2.0
// The tokenizer of the default model against ids made by Hugging Face's `tokenizers`
// (tools/golden/tokenizer_smollm2.py).
#include "loader/gguf_tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "artifact/gguf/gguf_writer.h"
#include "base/testing/model_file.h"

namespace o3::loader {
namespace {

class SmolLm2Tokenizer : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::filesystem::path path = o3::testing::model_file();
    if (!std::filesystem::exists(path)) {
      GTEST_SKIP() << path << " is absent: fetch the default model first";
    }
    const auto file = artifact::GgufFile::open(path);
    ASSERT_TRUE(file.ok()) << file.error().message;
    auto loaded = load_gguf_tokenizer(*file);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    tokenizer_ = *std::move(loaded);
  }
  // This vocabulary lacks six control characters and the lead bytes F1 and F2.
  bool has_every_byte(std::string_view text) const {
    return std::all_of(text.begin(), text.end(), [this](const char& c) {
      return tokenizer_->find({&c, 1}).has_value();
    });
  }
  std::unique_ptr<text::Tokenizer> tokenizer_;
};

TEST_F(SmolLm2Tokenizer, HasTheModelsSpecialTokens) {
  EXPECT_EQ(tokenizer_->vocabulary_size(), 49152);
  EXPECT_EQ(tokenizer_->bos(), 1);
  EXPECT_EQ(tokenizer_->eos(), 2);
  EXPECT_FALSE(tokenizer_->adds_bos());
  EXPECT_EQ(tokenizer_->find("<|im_end|>"), 2);
  EXPECT_TRUE(tokenizer_->is_control(2));
  EXPECT_FALSE(tokenizer_->is_control(28120));
}

TEST_F(SmolLm2Tokenizer, EqualsTheReferenceOnTheGoldenStrings) {
  const char* larger = std::getenv("O3_TOKENIZER_GOLDEN");  // a one-off run over more strings
  std::ifstream golden(larger != nullptr ? larger
                                         : O3_SOURCE_DIR "/tests/golden/tokenizer/smollm2.jsonl");
  ASSERT_TRUE(golden.is_open());
  int lines = 0;
  for (std::string line; std::getline(golden, line); ++lines) {
    const auto row = nlohmann::json::parse(line);
    const auto text = row[0].get<std::string>();
    const auto parsed = row[1].get<std::vector<Token>>();
    ASSERT_EQ(*tokenizer_->encode(text, text::SpecialTokens::kParse), parsed) << text;
    // A third element: the ids with control tokens not parsed, where they differ.
    const auto plain = row.size() > 2 ? row[2].get<std::vector<Token>>() : parsed;
    ASSERT_EQ(*tokenizer_->encode(text, text::SpecialTokens::kPlain), plain) << text;
    if (has_every_byte(text)) {
      ASSERT_EQ(text::decode(*tokenizer_, parsed, true), text);
      ASSERT_EQ(text::decode(*tokenizer_, plain, false), text);
    }
  }
  EXPECT_GE(lines, 2000);
}

Result<std::unique_ptr<text::Tokenizer>> load_file(const std::filesystem::path& path) {
  O3_ASSIGN(const artifact::GgufFile file, artifact::GgufFile::open(path));
  return load_gguf_tokenizer(file);
}

// The fuzzer's seeds are small files of known content; two are good, so that fuzzing starts deep.
TEST(GgufTokenizer, LoadsFromMetadata) {
  const std::filesystem::path seeds = O3_SOURCE_DIR "/fuzz/corpus/gguf_tokenizer";
  const auto full = load_file(seeds / "full");
  ASSERT_TRUE(full.ok()) << full.error().message;
  EXPECT_TRUE((*full)->adds_bos());
  EXPECT_EQ((*full)->bos(), 0);
  EXPECT_EQ(*(*full)->encode("low low<t>", text::SpecialTokens::kParse),
            (std::vector<Token>{9, 10, 1}));
  const auto bare = load_file(seeds / "bare");
  ASSERT_TRUE(bare.ok()) << bare.error().message;
  EXPECT_FALSE((*bare)->bos().has_value());
  EXPECT_TRUE((*bare)->is_control(0));
  const auto other = load_file(seeds / "other");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().param, "tokenizer.ggml.pre");
  const auto none = load_file(O3_SOURCE_DIR "/fuzz/corpus/gguf/empty");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().param, "tokenizer.ggml.model");
}

using nlohmann::json;

// By way of a file that holds what `vocabulary` has, and nothing more.
Result<std::unique_ptr<text::Tokenizer>> load_written(const std::string& model,
                                                      const std::string& pre,
                                                      const json& vocabulary,
                                                      std::optional<bool> add_bos = {}) {
  artifact::GgufWriter writer;
  writer.add("tokenizer.ggml.model", model);
  if (!pre.empty()) writer.add("tokenizer.ggml.pre", pre);
  writer.add_array("tokenizer.ggml.tokens", vocabulary["tokens"].get<std::vector<std::string>>());
  writer.add_array<int32_t>("tokenizer.ggml.token_type",
                            vocabulary["kinds"].get<std::vector<int32_t>>());
  if (vocabulary.contains("merges")) {
    writer.add_array("tokenizer.ggml.merges", vocabulary["merges"].get<std::vector<std::string>>());
  }
  if (vocabulary.contains("scores")) {
    writer.add_array<float>("tokenizer.ggml.scores",
                            vocabulary["scores"].get<std::vector<float>>());
  }
  for (const auto& [name, id] : vocabulary["ids"].items()) {
    writer.add_scalar("tokenizer.ggml." + name + "_token_id", id.get<uint32_t>());
  }
  if (add_bos) writer.add_scalar("tokenizer.ggml.add_bos_token", *add_bos);
  const std::vector<std::byte> bytes = writer.build();
  O3_ASSIGN(const artifact::GgufFile file, artifact::GgufFile::parse(bytes, "written.gguf"));
  return load_gguf_tokenizer(file);
}

json golden() {
  std::ifstream file(O3_SOURCE_DIR "/tests/golden/tokenizer/gguf.json");
  return json::parse(file);
}

// Byte-level BPE against Hugging Face with the makers' components, other models against llama.cpp.
// The script that wrote the ids checks llama.cpp's own for every name, and says where and why they
// are others.
TEST(GgufTokenizer, EveryNameEqualsTheReference) {
  const json all = golden();
  EXPECT_GE(all["rows"].size(), 30u);
  for (const json& row : all["rows"]) {
    const auto model = row["model"].get<std::string>();
    const auto pre = row["pre"].get<std::string>();
    const auto loaded = load_written(model, pre, all["vocabularies"][model]);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    EXPECT_EQ((*loaded)->adds_bos(), row["adds_bos"].get<bool>()) << model << " " << pre;
    for (size_t i = 0; i < all["texts"].size(); ++i) {
      const auto text = all["texts"][i].get<std::string>();
      const auto ids = all["ids"][row["ids"].get<size_t>()][i].get<std::vector<Token>>();
      EXPECT_EQ(*(*loaded)->encode(text, text::SpecialTokens::kPlain), ids)
          << model << " " << pre << " " << text;
    }
  }
}

TEST(GgufTokenizer, WhatTheFirstFilesLeaveOut) {
  const json all = golden();
  json vocabulary = all["vocabularies"]["llama"];
  vocabulary["ids"] = json::object();
  const auto loaded = load_written("llama", "", vocabulary);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ((*loaded)->unknown(), 0);
  EXPECT_EQ((*loaded)->bos(), 1);
  EXPECT_EQ((*loaded)->eos(), 2);
  EXPECT_TRUE((*loaded)->adds_bos());
  const auto told = load_written("llama", "", vocabulary, false);
  ASSERT_TRUE(told.ok()) << told.error().message;
  EXPECT_FALSE((*told)->adds_bos());
  json bytes = all["vocabularies"]["gpt2"];
  bytes["ids"] = json::object();
  const auto without = load_written("gpt2", "llama-bpe", bytes);  // there is none to add
  ASSERT_TRUE(without.ok()) << without.error().message;
  EXPECT_FALSE((*without)->adds_bos());
}

TEST(GgufTokenizer, IdsOutsideTheVocabularyAreRefused) {
  for (const char* model : {"llama", "gpt2"}) {
    for (const char* name : {"bos", "eos", "eot", "eom", "unknown", "padding"}) {
      json vocabulary = golden()["vocabularies"][model];
      for (const uint32_t id :
           {static_cast<uint32_t>(vocabulary["tokens"].size()), uint32_t{4294967295U}}) {
        vocabulary["ids"][name] = id;
        const auto loaded =
            load_written(model, std::string(model) == "gpt2" ? "gpt-2" : "", vocabulary);
        ASSERT_FALSE(loaded.ok()) << name << id;
        const std::string key = "tokenizer.ggml." + std::string(name) + "_token_id";
        EXPECT_EQ(loaded.error().param, key);
        EXPECT_EQ(loaded.error().code, Code::kInvalid);
      }
    }
  }
}

TEST(GgufTokenizer, EndsOfTurnsAreControlWhateverTheirKind) {
  json vocabulary = golden()["vocabularies"]["llama"];
  for (const char* name : {"</s>", "<|im_end|>", "<turn>", "<message>"}) {
    vocabulary["tokens"].push_back(name);
    vocabulary["kinds"].push_back(1);
    vocabulary["scores"].push_back(0);
  }
  const auto size = static_cast<Token>(vocabulary["tokens"].size());
  vocabulary["tokens"][2] = "<pad>";
  vocabulary["ids"] = {{"bos", 1}, {"eos", size - 4}, {"eot", size - 2}, {"eom", size - 1}};
  const auto loaded = load_written("llama", "", vocabulary);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  for (Token token = size - 4; token < size; ++token) {
    const std::string text((*loaded)->bytes(token, true));
    EXPECT_TRUE((*loaded)->is_control(token)) << text;
    EXPECT_EQ(*(*loaded)->encode(text, text::SpecialTokens::kParse), std::vector<Token>{token});
    const auto plain = (*loaded)->encode(text, text::SpecialTokens::kPlainSpecial);
    for (const Token made : *plain) EXPECT_FALSE((*loaded)->is_control(made)) << text;
  }
}

}  // namespace
}  // namespace o3::loader
