// SPDX-License-Identifier: Apache-2.0
#include "loader/convert_tokenizer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "loader/convert.h"
#include "loader/gguf_tokenizer.h"
#include "loader/hf_tokenizer.h"
#include "model/hf/hf_config.h"
#include "model/testing/test_directory.h"

namespace o3::loader {
namespace {

namespace fs = std::filesystem;
using model::ScratchDirectory;
using model::TestDirectory;
using nlohmann::json;

constexpr int64_t kVocabulary = 512;  // more than the small tokenizers have

// tiny_qwen3 with room for a small tokenizer, and that tokenizer.
TestDirectory model_with(const fs::path& to, const char* tokenizer) {
  TestDirectory directory = TestDirectory::open("tiny_qwen3");
  auto& embedding = directory.tensors.at("model.embed_tokens.weight");
  embedding.values.resize(embedding.values.size() / static_cast<size_t>(embedding.shape[0]) *
                          kVocabulary);
  embedding.shape[0] = kVocabulary;
  directory.config["vocab_size"] = kVocabulary;
  std::ifstream file(O3_SOURCE_DIR "/tests/golden/tokenizer/small/" + std::string(tokenizer));
  json copy = json::parse(file);
  // GGUF has no words for added tokens that take the space around them, or are met in normalized
  // text.
  for (json& token : copy["added_tokens"]) {
    for (const char* flag : {"lstrip", "rstrip", "single_word", "normalized"}) token[flag] = false;
  }
  std::ofstream(to / "tokenizer.json") << copy.dump();
  return directory;
}

artifact::GgufFile gguf_of(const fs::path& from, const fs::path& to) {
  const auto done = convert_model({.from = from, .to = to});
  EXPECT_TRUE(done.ok()) << done.error().message;
  if (done.ok() && !done->notes.empty()) ADD_FAILURE() << done->notes[0];
  auto file = artifact::GgufFile::open(to);
  EXPECT_TRUE(file.ok()) << file.error().message;
  return *std::move(file);
}

TEST(ConvertTokenizer, KeysOfGguf) {
  const ScratchDirectory scratch("convert_tokenizer_keys");
  fs::create_directory(scratch.path() / "hf");
  TestDirectory directory = model_with(scratch.path() / "hf", "qwen.json");
  directory.config["pad_token_id"] = 7;
  directory.config["eos_token_id"] = {2, 3};
  directory.write(scratch.path() / "hf");
  std::ofstream(scratch.path() / "hf/special_tokens_map.json") << R"({"bos_token": "!"})";
  std::ofstream(scratch.path() / "hf/chat_template.jinja") << "{{ bos_token }}";
  const auto file = gguf_of(scratch.path() / "hf", scratch.path() / "m.gguf");
  EXPECT_EQ(*file.required<std::string>("tokenizer.ggml.model"), "gpt2");
  EXPECT_EQ(*file.required<std::string>("tokenizer.ggml.pre"), "qwen2");
  EXPECT_EQ(file.required<artifact::StringArray>("tokenizer.ggml.tokens")->size(), 512U);
  EXPECT_EQ(file.required<std::vector<int32_t>>("tokenizer.ggml.token_type")->size(), 512U);
  EXPECT_GT(file.required<artifact::StringArray>("tokenizer.ggml.merges")->size(), 100U);
  EXPECT_EQ(*file.required<int64_t>("tokenizer.ggml.eos_token_id"), 2);
  EXPECT_EQ(*file.required<int64_t>("tokenizer.ggml.padding_token_id"), 7);
  EXPECT_FALSE(*file.required<bool>("tokenizer.ggml.add_eos_token"));
  EXPECT_EQ(*file.required<std::string>("tokenizer.chat_template"), "{{ bos_token }}");
  const auto tokenizer = load_gguf_tokenizer(file);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  const auto bos = (*tokenizer)->find("!");
  ASSERT_TRUE(bos.has_value());
  EXPECT_EQ((*tokenizer)->bos(), bos);
  EXPECT_EQ(*file.required<int64_t>("tokenizer.ggml.bos_token_id"), *bos);

  // And back: the name of BOS is where it is looked for.
  ASSERT_TRUE(
      convert_model({.from = scratch.path() / "m.gguf", .to = scratch.path() / "back"}).ok());
  const auto back = load_hf_tokenizer(scratch.path() / "back");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ((*back)->bos(), bos);
  std::ifstream config(scratch.path() / "back/config.json");
  const json told = json::parse(config);
  EXPECT_EQ(told["bos_token_id"], *bos);
  EXPECT_EQ(told["pad_token_id"], 7);
  EXPECT_EQ(told["eos_token_id"], json::array({2, 3}));
}

TEST(ConvertTokenizer, SaysWhatGgufHasNoWordsFor) {
  const ScratchDirectory scratch("convert_tokenizer_words");
  fs::create_directory(scratch.path() / "hf");
  model_with(scratch.path() / "hf", "unigram.json").write(scratch.path() / "hf");
  const auto done = convert_model({.from = scratch.path() / "hf", .to = scratch.path() / "m.gguf"});
  ASSERT_TRUE(done.ok()) << done.error().message;
  ASSERT_EQ(done->notes.size(), 1U);
  EXPECT_NE(done->notes[0].find("tokenizer.huggingface.json"), std::string::npos);
  const auto file = artifact::GgufFile::open(scratch.path() / "m.gguf");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->find("tokenizer.ggml.tokens"), nullptr);
  EXPECT_TRUE(load_gguf_tokenizer(*file).ok());
}

TEST(ConvertTokenizer, IdsOutsideTheVocabularyAreRefused) {
  for (const char* name : {"eos_token_id", "bos_token_id", "pad_token_id"}) {
    for (const json& id : {json(512), json(-7), json::array({1, 1 << 30})}) {
      const ScratchDirectory scratch("convert_tokenizer_ids");
      fs::create_directory(scratch.path() / "hf");
      TestDirectory directory = model_with(scratch.path() / "hf", "qwen.json");
      directory.config[name] = id;
      directory.write(scratch.path() / "hf");
      const auto done =
          convert_model({.from = scratch.path() / "hf", .to = scratch.path() / "m.gguf"});
      ASSERT_FALSE(done.ok()) << name << id;
      EXPECT_EQ(done.error().param, name);
      EXPECT_NE(done.error().message.find("outside the vocabulary of 512"), std::string::npos)
          << done.error().message;
      const auto opened = artifact::HfDirectory::open(scratch.path() / "hf");
      ASSERT_TRUE(opened.ok());
      EXPECT_FALSE(model::check_hf_tokens(*opened, kVocabulary).ok());
    }
  }
}

}  // namespace
}  // namespace o3::loader
