// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace o3::log {

void init() {
  auto logger = spdlog::stderr_color_mt("o3");
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %^%l%$ %v");
  spdlog::set_default_logger(std::move(logger));
}

bool set_level(std::string_view level) {
  constexpr std::string_view kLevels[] = {"debug", "info", "warn", "error"};
  if (std::find(std::begin(kLevels), std::end(kLevels), level) == std::end(kLevels)) return false;
  spdlog::set_level(spdlog::level::from_str(std::string(level)));
  return true;
}

}  // namespace o3::log
