// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "govern/live_keys.h"

namespace o3::app {

// Looks for changes of the key file every second, from a thread of its own.
class KeyWatch {
 public:
  explicit KeyWatch(govern::LiveKeys& keys);  // which must outlive it
  ~KeyWatch();
  KeyWatch(const KeyWatch&) = delete;
  KeyWatch& operator=(const KeyWatch&) = delete;

 private:
  void run();

  govern::LiveKeys& keys_;
  std::mutex mutex_;
  std::condition_variable stopping_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace o3::app
