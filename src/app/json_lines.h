// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <iostream>
#include <string>

#include "base/result.h"

namespace o3::app {

// One answer for each line of standard input, in order. A line that cannot be handled is answered
// by {"error"}, and the run goes on. In ASCII, as some readers take U+2028 for the end of a line;
// flushed for programs that wait for an answer before they ask again.
// Answer: const std::string& -> Result<Json>.
template <class Json, class Answer>
Result<void> answer_lines(const Answer& answer) {
  for (std::string line; std::getline(std::cin, line);) {
    const Result<Json> done = answer(line);
    const Json out = done.ok() ? *done : Json{{"error", done.error().message}};
    const std::string text = out.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
        std::fflush(stdout) != 0) {
      return unavailable("standard output cannot be written");
    }
  }
  return {};
}

}  // namespace o3::app
