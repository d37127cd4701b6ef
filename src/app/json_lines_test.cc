// SPDX-License-Identifier: Apache-2.0
#include "app/json_lines.h"

#include <gtest/gtest.h>

#include <memory>

namespace o3::app {
namespace {

TEST(JsonLines, AreBoundedWhileTheyAreRead) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  ASSERT_NE(file, nullptr);
  std::fputs("four\n\nlonger\nlast", file.get());
  std::rewind(file.get());
  std::string line;
  EXPECT_EQ(read_line(file.get(), 4, line), LineRead::kLine);
  EXPECT_EQ(line, "four");
  EXPECT_EQ(read_line(file.get(), 4, line), LineRead::kLine);
  EXPECT_EQ(line, "");
  EXPECT_EQ(read_line(file.get(), 4, line), LineRead::kTooLong);
  EXPECT_EQ(line, "long");
  EXPECT_EQ(read_line(file.get(), 4, line), LineRead::kLine);
  EXPECT_EQ(line, "last");
  EXPECT_EQ(read_line(file.get(), 4, line), LineRead::kEnd);
}

}  // namespace
}  // namespace o3::app
