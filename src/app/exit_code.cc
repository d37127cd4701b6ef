// SPDX-License-Identifier: Apache-2.0
#include "app/exit_code.h"

#include <cstdio>
#include <string>

#include "base/printable.h"

namespace o3::app {

ExitCode exit_code_for(Code code) noexcept {
  switch (code) {
    case Code::kInvalid:
    case Code::kUnsupported:
    case Code::kNotFound:
    case Code::kTooLong:
      return ExitCode::kBadInput;
    case Code::kUnauthenticated:
    case Code::kDenied:
    case Code::kConflict:
    case Code::kExhausted:
    case Code::kUnavailable:
    case Code::kDeadline:
      return ExitCode::kEnvironment;
    case Code::kCancelled:
      return ExitCode::kInterrupted;
    case Code::kInternal:
      return ExitCode::kFailed;
  }
  return ExitCode::kFailed;
}

ExitCode report_usage(std::string_view message) {
  std::fprintf(stderr, "error: %.*s\n", static_cast<int>(message.size()), message.data());
  return ExitCode::kUsage;
}

ExitCode report(const Error& error) {
  // It may repeat words of a file, which must not reach the terminal as escape sequences.
  std::string line;
  append_line(line, error.message);
  const bool named = error.message.find(error.param) != std::string::npos;  // also when it is empty
  if (!named) append_line(line += " (", error.param + ")");
  std::fprintf(stderr, "error: %s\n", line.c_str());
  return exit_code_for(error.code);
}

}  // namespace o3::app
