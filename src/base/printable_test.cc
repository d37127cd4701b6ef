// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/log.h"

namespace o3 {
namespace {

TEST(Printable, NamesHaveNoControlBytesAndAnEnd) {
  EXPECT_EQ(printable("blk.0.attn_q"), "blk.0.attn_q");
  EXPECT_EQ(printable("a\x1b[2Jb\xc3\xa9\x7f\n"), "a\\x1b[2Jb\\xc3\\xa9\\x7f\\x0a");
  EXPECT_EQ(printable(std::string(81, 'a')), std::string(80, 'a') + "...");
}

TEST(Printable, ListsAreShort) {
  EXPECT_EQ(list_of(std::vector<std::string>{}, "; "), "");
  EXPECT_EQ(list_of(std::vector<std::string>{"a", "b"}, "; "), "a; b");
  EXPECT_EQ(list_of(std::vector<std::string>(1000, "a"), ","), "a,a,a,a,a,a,a,a and 992 more");
}

TEST(Printable, LogLinesKeepLettersOfAllLanguages) {
  const auto line = [](std::string_view text) {
    std::string out;
    append_line(out, text);
    return out;
  };
  EXPECT_EQ(line("/home/z\xc3\xbcrich/m.gguf"), "/home/z\xc3\xbcrich/m.gguf");
  EXPECT_EQ(line("a\nb\x1b[0m"), "a\\x0ab\\x1b[0m");
  EXPECT_EQ(line("\xc2\x9b"
                 "2J"),
            "\xc2\\x9b2J")
      << "a control sequence introducer of one byte";
  EXPECT_EQ(line(std::string(5000, 'a')).size(), 4099U);
}

TEST(Log, ALineOfTheLogIsOneLine) {
  log::init();
  testing::internal::CaptureStderr();
  log::warn("no chat: {}", "bad name \x1b]0;owned\x07\n2030-01-01 info all is well");
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
  EXPECT_NE(line.find("bad name \\x1b]0;owned\\x07\\x0a2030"), std::string::npos) << line;
}

}  // namespace
}  // namespace o3
