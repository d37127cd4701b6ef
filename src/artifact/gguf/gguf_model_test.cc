// SPDX-License-Identifier: Apache-2.0
// The reader on the real model file, where it is present.
#include <gtest/gtest.h>

#include <filesystem>

#include "artifact/gguf/gguf_file.h"
#include "artifact/mapped_file.h"
#include "base/testing/model_file.h"

namespace o3::artifact {
namespace {

TEST(GgufModel, ReadsTheDefaultModel) {
  const std::filesystem::path path = testing::model_file();
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << path << " is absent: fetch the default model first";
  }
  const auto file = GgufFile::open(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->file_bytes(), 98362432u);
  EXPECT_EQ(file->version(), 3u);
  EXPECT_EQ(*file->required<std::string_view>("general.architecture"), "llama");
  EXPECT_EQ(*file->required<int32_t>("llama.block_count"), 30);
  EXPECT_EQ(*file->required<int64_t>("llama.embedding_length"), 576);
  EXPECT_EQ(file->required<StringArray>("tokenizer.ggml.tokens")->size(), 49152u);
  EXPECT_EQ(file->tensors().size(), 272u);

  const auto embedding = file->tensor("token_embd.weight");
  ASSERT_TRUE(embedding.ok()) << embedding.error().message;
  EXPECT_EQ(embedding->dtype, device::DType::kQ8_0);
  EXPECT_EQ(embedding->rows(), 49152);
  EXPECT_EQ(embedding->cols(), 576);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(embedding->data) % 32, 0u);
  EXPECT_EQ(file->tensor("output.weight").error().code, Code::kNotFound);
}

TEST(GgufModel, CutAtEvery4KiBIsRefused) {
  const std::filesystem::path path = testing::model_file();
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << path << " is absent: fetch the default model first";
  }
  const auto map = MappedFile::open(path);
  ASSERT_TRUE(map.ok()) << map.error().message;
  const auto whole = GgufFile::parse(map->bytes(), "whole");
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  const auto structure = static_cast<size_t>(whole->tensors()[0].view.data - map->bytes().data());
  // In the long lists of the tokenizer and in the data many cuts take the same way: a few of them.
  constexpr size_t kEdge = size_t{1} << 17;
  const auto step = [&](size_t at) -> size_t {
    if (at < kEdge || (at + kEdge > structure && at < structure)) return 4096;
    return at < structure ? 16 * 4096 : 2048 * 4096;
  };
  for (size_t at = 0; at < map->bytes().size(); at += step(at)) {
    const auto file = GgufFile::parse(map->bytes().first(at), "cut");
    ASSERT_FALSE(file.ok()) << at;
    ASSERT_EQ(file.error().code, Code::kInvalid) << file.error().message;
  }
}

}  // namespace
}  // namespace o3::artifact
