// SPDX-License-Identifier: Apache-2.0
#include "artifact/gguf/gguf_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "artifact/gguf/gguf_file.h"

namespace o3::artifact {
namespace {

TEST(GgufWriter, WritesAFileThatTheReaderMaps) {
  const auto path = std::filesystem::path(::testing::TempDir()) /
                    ("o3_writer_test_" + std::to_string(::getpid()) + ".gguf");
  GgufWriter writer;
  writer.add("general.name", "small");
  const std::vector<int64_t> shape{2, 2};
  const std::vector<float> values{1, 2, 3, 4};
  writer.add_tensor("w", device::DType::kF32, shape, std::as_bytes(std::span(values)));
  const auto written = writer.write(path);
  ASSERT_TRUE(written.ok()) << written.error().message;
  for (const auto& entry : std::filesystem::directory_iterator(path.parent_path())) {
    EXPECT_FALSE(entry.path().string().starts_with(path.string() + ".")) << entry.path();
  }
  const auto file = GgufFile::open(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->name(), path.filename().string());
  EXPECT_EQ(file->tensor("w")->row<const float>(1)[1], 4.0F);
  std::filesystem::remove(path);
}

TEST(GgufWriter, SaysWhereItCannotWrite) {
  const auto written = GgufWriter().write("/nonexistent/x.gguf");
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.error().message.find("cannot create /nonexistent/x.gguf."), std::string::npos);
}

}  // namespace
}  // namespace o3::artifact
