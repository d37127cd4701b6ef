// SPDX-License-Identifier: Apache-2.0
// Process log on standard error (spdlog). Never logs prompts, answers or secrets.
#pragma once

#include <spdlog/spdlog.h>

#include <string_view>

namespace o3::log {

// Sets the format (one line per message: control characters of it are escaped), at level "info";
// call once, from main().
void init();

// "debug", "info", "warn" or "error"; false (and no change) for any other word. Any thread.
bool set_level(std::string_view level);

using spdlog::debug;
using spdlog::error;
using spdlog::info;
using spdlog::warn;

}  // namespace o3::log
