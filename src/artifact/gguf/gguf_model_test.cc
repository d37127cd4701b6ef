// SPDX-License-Identifier: Apache-2.0
// The reader on the real model file, where it is present.
#include <gtest/gtest.h>

#include <filesystem>

#include "artifact/gguf/gguf_file.h"
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

}  // namespace
}  // namespace o3::artifact
