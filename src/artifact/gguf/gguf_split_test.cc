// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "artifact/gguf/gguf_file.h"
#include "artifact/gguf/gguf_writer.h"

namespace o3::artifact {
namespace {

class GgufSplit : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    directory_ =
        std::filesystem::path(testing::TempDir()) / ("o3_split_" + std::string(test->name()));
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path path(const std::string& name) const { return directory_ / name; }

  // A part with one vector of its number. Only the first has metadata, as gguf-split writes them.
  struct Part {
    uint16_t number = 0;
    uint16_t count = 3;
    int32_t tensors = 3;
    std::string tensor = "vector.";
  };
  void write(const std::string& name, const Part& part) const {
    GgufWriter writer;
    if (part.number == 0) writer.add("general.name", "split");
    writer.add_scalar("split.no", part.number);
    writer.add_scalar("split.count", part.count);
    writer.add_scalar("split.tensors.count", part.tensors);
    const std::array<int64_t, 1> shape{4};
    const std::array<float, 4> values{static_cast<float>(part.number), 1, 2, 3};
    std::string tensor = part.tensor;
    if (tensor.ends_with('.')) tensor += std::to_string(part.number);
    writer.add_tensor(tensor, device::DType::kF32, shape, std::as_bytes(std::span(values)));
    ASSERT_TRUE(writer.write(path(name)).ok());
  }
  void write_three() const {
    write("m-00001-of-00003.gguf", {.number = 0});
    write("m-00002-of-00003.gguf", {.number = 1});
    write("m-00003-of-00003.gguf", {.number = 2});
  }
  Error error_of(const std::string& name) const {
    auto file = GgufFile::open(path(name));
    EXPECT_FALSE(file.ok());
    return file.ok() ? Error{} : file.error();
  }

 private:
  std::filesystem::path directory_;
};

TEST_F(GgufSplit, AnyPartOpensTheWhole) {
  write_three();
  for (const char* name :
       {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"}) {
    auto opened = GgufFile::open(path(name));
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    const GgufFile file = *std::move(opened);
    EXPECT_EQ(file.parts(), 3U);
    EXPECT_EQ(file.name(), "m-00001-of-00003.gguf");
    EXPECT_EQ(*file.required<std::string>("general.name"), "split");
    ASSERT_EQ(file.tensors().size(), 3U);
    for (int i = 0; i < 3; ++i) {
      const auto tensor = file.tensor("vector." + std::to_string(i));
      ASSERT_TRUE(tensor.ok());
      EXPECT_EQ(*tensor->row<const float>(0), static_cast<float>(i));
    }
    uint64_t bytes = 0;
    for (int i = 1; i <= 3; ++i) {
      bytes += std::filesystem::file_size(path("m-0000" + std::to_string(i) + "-of-00003.gguf"));
    }
    EXPECT_EQ(file.file_bytes(), bytes);
    file.release_pages();
    EXPECT_EQ(*file.tensor("vector.2")->row<const float>(0), 2.0F);
  }
}

TEST_F(GgufSplit, AMissingPartIsNamed) {
  write_three();
  std::filesystem::remove(path("m-00002-of-00003.gguf"));
  const Error error = error_of("m-00001-of-00003.gguf");
  EXPECT_EQ(error.code, Code::kNotFound);
  EXPECT_NE(error.message.find("part 2 of 3"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("m-00002-of-00003.gguf"), std::string::npos) << error.message;
}

TEST_F(GgufSplit, AFileNotNamedLikeAPartSaysWhatIsExpected) {
  write("whole.gguf", {.number = 0});
  EXPECT_NE(error_of("whole.gguf").message.find("-00001-of-00003.gguf"), std::string::npos);
  write("m-00001-of-00002.gguf", {.number = 0});  // it says 3
  EXPECT_EQ(error_of("m-00001-of-00002.gguf").code, Code::kInvalid);
  write("-00001-of-00003.gguf", {.number = 0});
  EXPECT_EQ(error_of("-00001-of-00003.gguf").code, Code::kInvalid);
  write("m-0x001-of-00003.gguf", {.number = 0});
  EXPECT_EQ(error_of("m-0x001-of-00003.gguf").code, Code::kInvalid);
}

TEST_F(GgufSplit, PartsOfAnotherModelAreRefused) {
  write_three();
  write("m-00003-of-00003.gguf", {.number = 1});
  EXPECT_NE(error_of("m-00001-of-00003.gguf").message.find("part 3 of 3"), std::string::npos);
  write("m-00003-of-00003.gguf", {.number = 2, .count = 4});
  EXPECT_EQ(error_of("m-00001-of-00003.gguf").param, "split.no");
  write("m-00003-of-00003.gguf", {.number = 2, .tensor = "vector.0"});
  EXPECT_NE(error_of("m-00001-of-00003.gguf").message.find("appears twice"), std::string::npos);
  write_three();
  write("m-00001-of-00003.gguf", {.number = 0, .tensors = 5});
  EXPECT_EQ(error_of("m-00001-of-00003.gguf").param, "split.tensors.count");
}

TEST_F(GgufSplit, CountsAreBounded) {
  write("m-00001-of-65535.gguf", {.number = 0, .count = 65535});
  EXPECT_NE(error_of("m-00001-of-65535.gguf").message.find("at most 1000"), std::string::npos);
  write("one.gguf", {.number = 0, .count = 1, .tensors = 1});
  EXPECT_TRUE(GgufFile::open(path("one.gguf")).ok());
}

TEST_F(GgufSplit, ADamagedPartIsNamed) {
  write_three();
  const auto part = path("m-00002-of-00003.gguf");
  std::filesystem::resize_file(part, std::filesystem::file_size(part) - 24);
  const Error error = error_of("m-00001-of-00003.gguf");
  EXPECT_EQ(error.code, Code::kInvalid);
  EXPECT_NE(error.message.find("m-00002-of-00003.gguf"), std::string::npos) << error.message;
}

}  // namespace
}  // namespace o3::artifact
