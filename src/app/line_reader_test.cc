// SPDX-License-Identifier: Apache-2.0
#include "app/line_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace o3::app {
namespace {

using Status = LineReader::Status;

// What next() gives of `text` from a pipe, until the end; "!" for a line that is too long.
std::vector<std::string> lines_of(const std::string& text, size_t max_bytes) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  std::thread writer([&] {
    size_t done = 0;
    while (done < text.size()) {
      const ssize_t wrote = write(ends[1], text.data() + done, text.size() - done);
      if (wrote <= 0) break;
      done += static_cast<size_t>(wrote);
    }
    close(ends[1]);
  });
  LineReader reader(ends[0], max_bytes);
  std::vector<std::string> out;
  std::string line;
  for (Status status = reader.next(line); status != Status::kEnd; status = reader.next(line)) {
    out.push_back(status == Status::kTooLong ? "!" + line : line);
  }
  EXPECT_EQ(reader.next(line), Status::kEnd);
  writer.join();
  close(ends[0]);
  return out;
}

TEST(LineReader, LinesAsTheyAre) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines_of("", 10), Lines{});
  EXPECT_EQ(lines_of("\n", 10), Lines{""});
  EXPECT_EQ(lines_of("a\n\nb", 10), (Lines{"a", "", "b"}));
  EXPECT_EQ(lines_of("a\r\nb\n", 10), (Lines{"a\r", "b"}));
  EXPECT_EQ(lines_of(std::string("a\0b\n", 4), 10), Lines{std::string("a\0b", 3)});
}

TEST(LineReader, LongOnesArePassedOver) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines_of("1234\n12345\n123456\nx\n", 5), (Lines{"1234", "12345", "!", "x"}));
  EXPECT_EQ(lines_of("123456", 5), Lines{"!"});
  const std::string long_line(300'000, 'x');  // several times what is read at once
  EXPECT_EQ(lines_of(long_line + "\ny", 300'000), (Lines{long_line, "y"}));
  EXPECT_EQ(lines_of(long_line + "\ny", 299'999), (Lines{"!", "y"}));
}

}  // namespace
}  // namespace o3::app
