// SPDX-License-Identifier: Apache-2.0
#include "app/key_watch.h"

#include <chrono>

#include "base/log.h"

namespace o3::app {
namespace {

constexpr std::chrono::milliseconds kPeriod{500};

}  // namespace

KeyWatch::KeyWatch(govern::LiveKeys& keys) : keys_(keys) {
  // What changed since the keys were read is in force from the start.
  if (const auto first = keys_.refresh(); !first.ok()) log::error("{}", first.error().message);
  thread_ = std::thread([this] { run(); });
}

KeyWatch::~KeyWatch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopping_.notify_one();
  thread_.join();
}

void KeyWatch::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_.wait_for(lock, kPeriod, [this] { return stop_; })) {
    const Result<bool> changed = keys_.refresh();
    if (!changed.ok()) {
      log::error("the API keys stay as they were: {}", changed.error().message);
    } else if (*changed) {
      log::info("the API keys of the file are in force");
    }
  }
}

}  // namespace o3::app
