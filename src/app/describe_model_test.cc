// SPDX-License-Identifier: Apache-2.0
#include "app/describe_model.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "artifact/gguf/gguf_writer.h"

namespace o3::app {
namespace {

using artifact::GgufFile;
using artifact::GgufWriter;

std::vector<std::byte> sample() {
  GgufWriter writer;
  writer.add("general.architecture", "llama");
  writer.add_scalar("u64", std::numeric_limits<uint64_t>::max());
  writer.add_array("ints", std::span<const int32_t>(std::array{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  writer.add_array("floats", std::span<const float>(std::array{0.5F, -1.0F}));
  const std::vector<std::byte> data(120);
  const std::array<int64_t, 2> matrix{3, 64};
  const std::array<int64_t, 1> vector{5};
  const std::array<int64_t, 1> nothing{0};
  writer.add_tensor("quantised", device::DType::kQ4_1, matrix, data);
  writer.add_tensor("vector", device::DType::kF32, vector, std::span(data).first(20));
  writer.add_tensor("empty", device::DType::kF16, nothing, {});
  return writer.build();
}

TEST(Describe, ElidesLongArraysAndAddsUp) {
  const std::vector<std::byte> bytes = sample();
  const auto file = GgufFile::parse(bytes, "t.gguf");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto json = describe(*file);
  EXPECT_EQ(json["metadata"]["ints"]["count"], 9);
  EXPECT_EQ(json["metadata"]["ints"]["first"].size(), 8U);
  EXPECT_EQ(json["metadata"]["floats"], (std::vector<double>{0.5, -1.0}));
  EXPECT_EQ(json["metadata"]["u64"], std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(json["metadata"].begin().key(), "general.architecture");
  EXPECT_EQ(json["tensors"][0]["shape"], (std::vector<int64_t>{3, 64}));
  EXPECT_EQ(json["totals"]["bytes"], 140);
  EXPECT_EQ(json["totals"]["elements"], 192 + 5);
  EXPECT_EQ(json["file_bytes"], bytes.size());
  const std::string text = describe_text(json);
  EXPECT_NE(text.find("Q4_1"), std::string::npos);
  EXPECT_NE(text.find("[3,64]"), std::string::npos);
  EXPECT_NE(text.find("array of i32, 9 elements"), std::string::npos);
}

TEST(Describe, TensorsThatAreNotRead) {
  const std::vector<std::byte> bytes = sample();
  const auto json = describe(*GgufFile::parse(bytes, "t.gguf"));
  ASSERT_EQ(json["unread"].size(), 1U);
  EXPECT_EQ(json["unread"][0]["name"], "empty");
  EXPECT_EQ(json["unread"][0]["dtype"], "F16");
  EXPECT_EQ(json["unread"][0]["shape"], (std::vector<int64_t>{0}));
  EXPECT_NE(describe_text(json).find("is empty"), std::string::npos);
}

TEST(Describe, StringsThatAreNotUtf8DoNotThrow) {
  GgufWriter writer;
  writer.add("bad\xFF", "\xC3\x28 \x1b[2J");
  const std::vector<std::byte> bytes = writer.build();
  const auto file = GgufFile::parse(bytes, "t\xFF.gguf");
  ASSERT_TRUE(file.ok());
  EXPECT_NO_THROW(static_cast<void>(describe(*file).dump()));
  EXPECT_EQ(describe_text(describe(*file)).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace o3::app
