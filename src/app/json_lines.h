// SPDX-License-Identifier: Apache-2.0
#pragma once

<<<<<<< HEAD
#include <unistd.h>

=======
>>>>>>> m2-files
#include <cstddef>
#include <cstdio>
#include <string>

#include "app/line_reader.h"
#include "base/result.h"

namespace o3::app {

<<<<<<< HEAD
inline constexpr size_t kMaxLineBytes = 64u << 20;
=======
// Of one line; longer ones are passed over and answered by an error.
inline constexpr size_t kMaxLineBytes = size_t{64} << 20U;

enum class LineRead : uint8_t { kLine, kTooLong, kEnd };

// The next line of a file without its end. kTooLong: it has more than `most` bytes; all of it has
// been read, no more than `most` bytes of it are held.
LineRead read_line(std::FILE* file, size_t most, std::string& line);
>>>>>>> m2-files

// One answer for each line of standard input, in order. A line that cannot be handled is answered
// by {"error"}, and the run goes on. In ASCII, as some readers take U+2028 for the end of a line;
// flushed for programs that wait for an answer before they ask again.
// Answer: const std::string& -> Result<Json>.
template <class Json, class Answer>
Result<void> answer_lines(const Answer& answer) {
<<<<<<< HEAD
  LineReader reader(STDIN_FILENO, kMaxLineBytes);
  std::string line;
  while (true) {
    const LineReader::Status status = reader.next(line);
    if (status == LineReader::Status::kEnd) return {};
    const Result<Json> done = status == LineReader::Status::kLine
                                  ? answer(line)
                                  : Error{Code::kTooLong, "the line is longer than 64 MiB", {}};
=======
  std::string line;
  for (;;) {
    const LineRead read = read_line(stdin, kMaxLineBytes, line);
    if (read == LineRead::kEnd) return {};
    const Result<Json> done =
        read == LineRead::kLine
            ? answer(line)
            : Result<Json>(Error{Code::kTooLong, "the line is longer than 64 MiB", {}});
>>>>>>> m2-files
    const Json out = done.ok() ? *done : Json{{"error", done.error().message}};
    const std::string text = out.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
        std::fflush(stdout) != 0) {
      return {};  // main() sees it too, and tells
    }
  }
}

}  // namespace o3::app
