// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <csignal>
#include <functional>
#include <initializer_list>
#include <thread>

namespace o3::app {

// Blocks SIGINT and SIGTERM in the calling thread and those it starts afterwards. Call it before
// the first thread, so that only a waiter sees them.
void block_termination_signals();

// Waits for SIGINT or SIGTERM and returns it. Any one thread, after block_termination_signals().
int wait_for_termination();

// After block_termination_signals(). While it lives, the first SIGINT or SIGTERM calls `on_signal`
// on a thread of its own (so it may lock and allocate); a second one ends the process at once with
// exit code 130.
class InterruptGuard {
 public:
  explicit InterruptGuard(std::function<void()> on_signal);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  std::atomic<bool> stopping_{false};
  std::thread waiter_;
};

}  // namespace o3::app
