// SPDX-License-Identifier: Apache-2.0
// Exit codes of every command; docs/cli.md lists them for users.
#pragma once

#include <string_view>

#include "base/result.h"

namespace o3::app {

enum class ExitCode : int {
  kOk = 0,
  kFailed = 1,         // the command ran and did not succeed (a bug of ours is reported here too)
  kUsage = 2,          // unknown command or option, value out of range
  kBadInput = 3,       // a file or request is malformed, unsupported, missing or too long
  kEnvironment = 4,    // the machine said no: port taken, memory, disk, permission
  kInterrupted = 130,  // Ctrl-C
};

// Which exit code an error ends a command with.
ExitCode exit_code_for(Code code) noexcept;

// Prints "error: MESSAGE" on standard error; for options that do not go together.
ExitCode report_usage(std::string_view message);

// Prints "error: MESSAGE" (with the parameter, when named) on standard error.
ExitCode report(const Error& error);

}  // namespace o3::app
