// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "base/printable.h"

namespace o3::log {
namespace {

// What "%v" is without it: messages repeat words of files and clients.
class MessageOfOneLine final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& out) override {
    std::string line;
    append_line(line, {message.payload.data(), message.payload.size()});
    out.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<MessageOfOneLine>();
  }
};

}  // namespace

void init() {
  auto logger = spdlog::stderr_color_mt("o3");
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<MessageOfOneLine>('*').set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %^%l%$ %*");
  logger->set_formatter(std::move(formatter));
  spdlog::set_default_logger(std::move(logger));
}

bool set_level(std::string_view level) {
  constexpr std::string_view kLevels[] = {"debug", "info", "warn", "error"};
  if (std::find(std::begin(kLevels), std::end(kLevels), level) == std::end(kLevels)) return false;
  spdlog::set_level(spdlog::level::from_str(std::string(level)));
  return true;
}

}  // namespace o3::log
