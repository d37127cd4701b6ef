// SPDX-License-Identifier: Apache-2.0
#include "eval/logits_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "eval/testing/fake_model.h"
#include "eval/testing/golden.h"

namespace o3::eval {
namespace {

class LogitsFile : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::path(testing::TempDir()) / "o3_logits_test.npy";
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  Result<LogitsFileResult> write(const std::vector<std::vector<Token>>& lines, bool go = true) {
    return write_logits(model_, *backend_, lines, kernels::Compute::kFast, path_,
                        [go] { return go; });
  }
  std::string content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  FakeModel model_;
  std::unique_ptr<device::cpu::CpuBackend> backend_ = cpu_backend(device::cpu::Isa::kGeneric, 1);
  std::filesystem::path path_;
};

TEST_F(LogitsFile, RowsOfAllLinesEachFromAnEmptyCache) {
  const std::vector<std::vector<Token>> lines{{5, 6, 7}, {}, {8, 9}};
  const auto result = write(lines);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->lines, 3);
  EXPECT_EQ(result->rows, 5);
  const std::string bytes = content();
  ASSERT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const size_t start = 10 + static_cast<uint8_t>(bytes[8]) + 256 * static_cast<uint8_t>(bytes[9]);
  EXPECT_EQ(start % 64, 0U);
  EXPECT_EQ(bytes.substr(10, start - 10)
                .find("{'descr': '<f4', 'fortran_order': False, 'shape': (5, 50), }"),
            0U);
  EXPECT_EQ(bytes[start - 1], '\n');
  ASSERT_EQ(bytes.size(), start + size_t{5} * FakeModel::kVocabulary * sizeof(float));
  size_t at = start;
  for (const auto& line : lines) {
    for (size_t position = 0; position < line.size(); ++position) {
      for (int32_t id = 0; id < FakeModel::kVocabulary; ++id, at += sizeof(float)) {
        float value = 0;
        std::memcpy(&value, bytes.data() + at, sizeof value);
        ASSERT_EQ(value, FakeModel::logit(line[position], static_cast<int32_t>(position), id));
      }
    }
  }
}

TEST_F(LogitsFile, ProblemsNameTheLineAndLeaveNoFile) {
  const auto outside = write({{1}, {50}});
  ASSERT_FALSE(outside.ok());
  EXPECT_EQ(outside.error().code, Code::kInvalid);
  EXPECT_NE(outside.error().message.find("line 2 has id 50"), std::string::npos);
  const auto longer = write({std::vector<Token>(65, 1)});
  ASSERT_FALSE(longer.ok());
  EXPECT_EQ(longer.error().code, Code::kTooLong);
  const auto stopped = write({{1, 2}}, false);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, Code::kCancelled);
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_FALSE(std::filesystem::exists(path_.string() + ".partial"));
}

TEST_F(LogitsFile, APlaceThatCannotBeWrittenIsSaid) {
  path_ = "/nonexistent/o3.npy";
  const auto result = write({{1}});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("cannot create /nonexistent/o3.npy"), std::string::npos);
}

TEST(IdLines, ListsAndObjects) {
  const auto lines = read_id_lines("[1, 2]\n{\"ids\": [3]}\r\n[]");
  ASSERT_TRUE(lines.ok()) << lines.error().message;
  EXPECT_EQ(*lines, (std::vector<std::vector<Token>>{{1, 2}, {3}, {}}));
}

TEST(IdLines, OtherLinesAreRefusedByNumber) {
  for (const char* text :
       {"[1]\n\n[2]", "[1]\n[1.5]", "[1]\n[-1]", "[1]\n[4294967296]",
        "[1]\n{\"ids\":[1],\"ids\":[2]}", "[1]\n[\"1\"]", "[1]\n[1", "[1]\n{}", "[1]\n5"}) {
    const auto lines = read_id_lines(text);
    ASSERT_FALSE(lines.ok()) << text;
    EXPECT_EQ(lines.error().message.find("line 2 "), 0U) << lines.error().message;
  }
  EXPECT_FALSE(read_id_lines("").ok());
}

}  // namespace
}  // namespace o3::eval
