// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <mutex>
#include <thread>

namespace o3::app {

// SIGINT, SIGTERM and SIGHUP of this process, for as long as it lives. Make it before any other
// thread: it blocks these signals in the calling thread and those started afterwards, so that only
// its own thread sees them.
//
// The first signal calls the handler, on that thread, which may lock and allocate; without a
// handler, and at a second signal, the process ends at once with exit code 130.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // While it lives, its action is the handler; once it is gone, the action runs no more.
  class Handler {
   public:
    explicit Handler(Interrupt& owner) : owner_(owner) {}
    ~Handler() { owner_.set(nullptr); }
    Handler(const Handler&) = delete;
    Handler& operator=(const Handler&) = delete;

   private:
    Interrupt& owner_;
  };
  [[nodiscard]] Handler handle(std::function<void()> action) {
    set(std::move(action));
    return Handler(*this);
  }

 private:
  void set(std::function<void()> action);
  void wait();

  std::mutex mutex_;  // guards what follows; held while the action runs
  std::function<void()> action_;
  bool stopping_ = false;
  std::thread waiter_;
};

}  // namespace o3::app
