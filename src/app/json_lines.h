// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <string>

#include "app/line_reader.h"
#include "base/result.h"

namespace o3::app {

inline constexpr size_t kMaxLineBytes = 64u << 20;

// One answer for each line of standard input, in order. A line that cannot be handled is answered
// by {"error"}, and the run goes on. In ASCII, as some readers take U+2028 for the end of a line;
// flushed for programs that wait for an answer before they ask again.
// Answer: const std::string& -> Result<Json>.
template <class Json, class Answer>
Result<void> answer_lines(const Answer& answer) {
  LineReader reader(STDIN_FILENO, kMaxLineBytes);
  std::string line;
  while (true) {
    const LineReader::Status status = reader.next(line);
    if (status == LineReader::Status::kEnd) return {};
    const Result<Json> done = status == LineReader::Status::kLine
                                  ? answer(line)
                                  : Error{Code::kTooLong, "the line is longer than 64 MiB", {}};
    const Json out = done.ok() ? *done : Json{{"error", done.error().message}};
    const std::string text = out.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
        std::fflush(stdout) != 0) {
      return {};  // main() sees it too, and tells
    }
  }
}

}  // namespace o3::app
