// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "engine/request.h"

namespace o3::app {

// A sink whose owner waits for deltas: for commands that have nothing else to do.
class BlockingSink final : public engine::DeltaSink {
 public:
  void deliver(std::vector<engine::Delta> deltas) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      for (auto& delta : deltas) queue_.push_back(std::move(delta));
    }
    arrived_.notify_one();
  }

  engine::Delta next() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return !queue_.empty(); });
    engine::Delta delta = std::move(queue_.front());
    queue_.pop_front();
    return delta;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<engine::Delta> queue_;
};

}  // namespace o3::app
